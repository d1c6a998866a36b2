// Kubernetes' own allocator, used as kube-scheduler uses it, and measured.
//
//	upstream-allocator CLUSTER.json
//
// Reads a cluster, answers with one line, then reads orders from standard input, one JSON object
// a line, and answers each with the measurement as one JSON object. Nothing here decides: that is
// all k8s.io/dynamic-resource-allocation/structured.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"time"
)

type ready struct {
	Seconds float64 `json:"seconds"`
	Rss     float64 `json:"rss_mb"`
}

type failure struct {
	Error string `json:"error"`
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "upstream-allocator:", err)
		os.Exit(1)
	}
}

func serve() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: upstream-allocator CLUSTER.json")
	}
	began := time.Now()
	read, err := readCluster(os.Args[1])
	if err != nil {
		return err
	}
	b := newBench(read)
	seconds := time.Since(began).Seconds()
	debug.FreeOSMemory()
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(ready{seconds, residentMegabytes()}); err != nil {
		return err
	}
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		if err := out.Encode(b.obey(orders.Bytes())); err != nil {
			return err
		}
	}
	return orders.Err()
}

func (b *bench) obey(line []byte) any {
	var o order
	if err := json.Unmarshal(line, &o); err != nil {
		return failure{err.Error()}
	}
	done, err := b.run(context.Background(), o)
	if err != nil {
		return failure{err.Error()}
	}
	done.Rss = residentMegabytes()
	return done
}

func residentMegabytes() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == "VmRSS:" {
			kilobytes, _ := strconv.ParseFloat(string(fields[1]), 64)
			return kilobytes / 1024
		}
	}
	return 0
}
