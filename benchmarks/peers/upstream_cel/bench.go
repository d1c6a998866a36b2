package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/blang/semver/v4"
	resourceapi "k8s.io/api/resource/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/dynamic-resource-allocation/cel"
)

// Features that kube-scheduler 1.37 hands to the compiler with its default gates.
var features = cel.Features{EnableConsumableCapacity: true}

// order is one line of our input.
type order struct {
	// Way: "compile" compiles each expression once, as the scheduler's cache does for a new one;
	// "match" asks the first about every device; "evaluate" does so too, but with the variables
	// that an evaluation reads made beforehand, which nobody but us does.
	Way         string   `json:"way"`
	Expressions []string `json:"expressions"`
}

// answer is one line of our output: seconds by the clock and of the processor, collector included.
type answer struct {
	Count     int     `json:"count"`
	Matches   int     `json:"matches"`
	Clock     float64 `json:"clock"`
	Processor float64 `json:"processor"`
}

type bench struct {
	devices   []cel.Device
	variables []map[string]any
}

type file struct {
	Driver  string
	Devices []resourceapi.Device
}

func newBench(path string) (*bench, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var read file
	if err := json.Unmarshal(content, &read); err != nil {
		return nil, fmt.Errorf("%s has no devices: %w", path, err)
	}
	b := &bench{}
	for _, device := range read.Devices {
		b.devices = append(b.devices, cel.Device{
			Driver:     read.Driver,
			Attributes: device.Attributes,
			Capacity:   device.Capacity,
		})
		made, err := variablesOf(read.Driver, device)
		if err != nil {
			return nil, fmt.Errorf("device %s: %w", device.Name, err)
		}
		b.variables = append(b.variables, made)
	}
	return b, nil
}

// variablesOf is what DeviceMatches makes of a device each time, for names without a domain.
func variablesOf(driver string, device resourceapi.Device) (map[string]any, error) {
	attributes, capacity := map[string]any{}, map[string]apiservercel.Quantity{}
	for name, attribute := range device.Attributes {
		switch {
		case attribute.StringValue != nil:
			attributes[string(name)] = *attribute.StringValue
		case attribute.IntValue != nil:
			attributes[string(name)] = *attribute.IntValue
		case attribute.BoolValue != nil:
			attributes[string(name)] = *attribute.BoolValue
		case attribute.VersionValue != nil:
			version, err := semver.Parse(*attribute.VersionValue)
			if err != nil {
				return nil, err
			}
			attributes[string(name)] = apiservercel.Semver{Version: version}
		}
	}
	for name, amount := range device.Capacity {
		capacity[string(name)] = apiservercel.Quantity{Quantity: &amount.Value}
	}
	return map[string]any{"device": map[string]any{
		"driver":                   driver,
		"allowMultipleAllocations": false,
		"attributes":               map[string]any{driver: attributes},
		"capacity":                 map[string]any{driver: capacity},
	}}, nil
}

func (b *bench) run(o order) (answer, error) {
	if len(o.Expressions) == 0 {
		return answer{}, errors.New("no expression")
	}
	switch o.Way {
	case "compile":
		return compile(o.Expressions)
	case "match", "evaluate":
		return b.match(o.Expressions[0], o.Way == "evaluate")
	}
	return answer{}, fmt.Errorf("unknown way %q", o.Way)
}

func compile(expressions []string) (answer, error) {
	cache := cel.NewCache(10, features)
	began, processor := time.Now(), processorSeconds()
	for _, expression := range expressions {
		if found := cache.GetOrCompile(expression); found.Error != nil {
			return answer{}, found.Error
		}
	}
	return answer{
		Count:     len(expressions),
		Clock:     time.Since(began).Seconds(),
		Processor: processorSeconds() - processor,
	}, nil
}

func (b *bench) match(expression string, ready bool) (answer, error) {
	compiled := cel.NewCache(10, features).GetOrCompile(expression)
	if compiled.Error != nil {
		return answer{}, compiled.Error
	}
	ctx, matches := context.Background(), 0
	began, processor := time.Now(), processorSeconds()
	for i := range b.devices {
		fits, err := false, error(nil)
		if ready {
			fits, err = evaluate(ctx, compiled, b.variables[i])
		} else {
			fits, _, err = compiled.DeviceMatches(ctx, b.devices[i])
		}
		if err != nil {
			return answer{}, err
		}
		if fits {
			matches++
		}
	}
	return answer{
		Count:     len(b.devices),
		Matches:   matches,
		Clock:     time.Since(began).Seconds(),
		Processor: processorSeconds() - processor,
	}, nil
}

func evaluate(ctx context.Context, compiled cel.CompilationResult, variables map[string]any) (bool, error) {
	result, _, err := compiled.Program.ContextEval(ctx, variables)
	if err != nil {
		return false, err
	}
	fits, _ := result.Value().(bool)
	return fits, nil
}

func processorSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
