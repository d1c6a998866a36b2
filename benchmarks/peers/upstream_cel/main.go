// Kubernetes' own CEL engine for device selectors, used as kube-scheduler uses it, and measured.
//
//	upstream-cel DEVICES.json
//
// Reads devices, answers with one line, then reads orders from standard input, one JSON object a
// line, and answers each with the measurement as one JSON object. Nothing here compiles or
// evaluates: that is all k8s.io/dynamic-resource-allocation/cel.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type ready struct {
	Devices int `json:"devices"`
}

type failure struct {
	Error string `json:"error"`
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "upstream-cel:", err)
		os.Exit(1)
	}
}

func serve() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: upstream-cel DEVICES.json")
	}
	b, err := newBench(os.Args[1])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(ready{len(b.devices)}); err != nil {
		return err
	}
	orders := bufio.NewScanner(os.Stdin)
	orders.Buffer(nil, 1<<24)
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
	done, err := b.run(o)
	if err != nil {
		return failure{err.Error()}
	}
	return done
}
