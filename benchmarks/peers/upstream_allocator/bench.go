package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Features that kube-scheduler 1.37 hands to the allocator with its default gates.
var features = structured.Features{
	AdminAccess:             true,
	ConsumableCapacity:      true,
	DeviceBindingAndStatus:  true,
	DeviceTaints:            true,
	FractionalCapacityRange: true,
	PartitionableDevices:    true,
	PrioritizedList:         true,
}

const seed = 20261130

type results = []resourceapi.DeviceRequestAllocationResult

// order is one line of our input.
type order struct {
	// Way: "scheduler" copies the allocated state and builds the allocator for each decision;
	// "best" builds it once and changes the state that it holds.
	Way string `json:"way"`
	// Mode: "steady" gives each claim back at once, "churn" a random one before each decision,
	// "fill" none until nothing fits any more.
	Mode      string  `json:"mode"`
	Decisions int     `json:"decisions"`
	Seconds   float64 `json:"seconds"`
}

// answer is one line of our output. Microseconds for p50 to longest; Busy is the time that all
// decisions took, Processor the processor time of the whole run, collector included.
type answer struct {
	Decisions  int     `json:"decisions"`
	Busy       float64 `json:"busy"`
	Processor  float64 `json:"processor"`
	P50        float64 `json:"p50"`
	P99        float64 `json:"p99"`
	Longest    float64 `json:"longest"`
	NodesTried float64 `json:"nodes_tried"`
	Complete   bool    `json:"complete"`
	Rss        float64 `json:"rss_mb"`
}

type bench struct {
	cluster *cluster
	nodes   []*v1.Node
	held    holdings
	live    []results
	claims  []*resourceapi.ResourceClaim
	cache   *cel.Cache
	once    structured.Allocator
	start   int
	tried   int
	chance  *rand.Rand
}

func newBench(c *cluster) *bench {
	b := &bench{
		cluster: c,
		nodes:   c.nodeObjects(),
		held:    newHoldings(),
		live:    c.Held,
		claims: []*resourceapi.ResourceClaim{{
			ObjectMeta: metav1.ObjectMeta{Name: "claim", Namespace: "ns"},
			Spec:       c.Claim,
		}},
		// Size and features as in kube-scheduler's plugin.
		cache:  cel.NewCache(10, cel.Features{EnableConsumableCapacity: true}),
		chance: rand.New(rand.NewSource(seed)),
	}
	c.Held = nil
	for _, claim := range b.live {
		b.held.hold(claim)
	}
	return b
}

var errStale = errors.New("an allocator that was built once reads a pool's counters only once")

func (b *bench) run(ctx context.Context, o order) (answer, error) {
	b.once = nil
	if o.Way == "best" {
		if o.Mode != "steady" && b.countsCounters() {
			return answer{}, errStale
		}
		once, err := b.build(ctx, b.held.AllocatedState)
		if err != nil {
			return answer{}, err
		}
		b.once = once
	}
	before := len(b.live)
	b.tried = 0
	taken, complete, processor, err := b.decisions(ctx, o)
	if err != nil {
		return answer{}, err
	}
	if o.Mode == "fill" {
		for len(b.live) > before {
			b.giveBack(len(b.live) - 1)
		}
	}
	return summary(taken, complete, processor, b.tried), nil
}

func (b *bench) decisions(ctx context.Context, o order) ([]time.Duration, bool, float64, error) {
	taken := make([]time.Duration, 0, min(o.Decisions, 1<<16))
	processor := processorSeconds()
	deadline := time.Now().Add(time.Duration(o.Seconds * float64(time.Second)))
	for len(taken) < o.Decisions && time.Now().Before(deadline) {
		if o.Mode == "churn" {
			b.giveBack(b.chance.Intn(len(b.live)))
		}
		began := time.Now()
		got, err := b.decide(ctx)
		took := time.Since(began)
		if err != nil {
			return nil, false, 0, err
		}
		if got == nil {
			if o.Mode != "fill" {
				return nil, false, 0, errors.New("no node fits")
			}
			return taken, true, processorSeconds() - processor, nil
		}
		taken = append(taken, took)
		b.live = append(b.live, got)
		if o.Mode == "steady" {
			b.giveBack(len(b.live) - 1)
		}
	}
	return taken, len(taken) == o.Decisions && o.Mode != "fill", processorSeconds() - processor, nil
}

// decide gives a claim its devices on the first node that fits, from a rotating start.
func (b *bench) decide(ctx context.Context) (results, error) {
	allocator := b.once
	if allocator == nil {
		built, err := b.build(ctx, b.held.clone())
		if err != nil {
			return nil, err
		}
		allocator = built
	}
	for i := range b.nodes {
		node := b.nodes[(b.start+i)%len(b.nodes)]
		b.tried++
		found, err := allocator.Allocate(ctx, node, b.claims)
		if err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode) {
			return nil, fmt.Errorf("on node %s: %w", node.Name, err)
		}
		if len(found) > 0 {
			b.start = (b.start + i + 1) % len(b.nodes)
			b.held.hold(found[0].Devices.Results)
			return found[0].Devices.Results, nil
		}
	}
	return nil, nil
}

func (b *bench) build(ctx context.Context, state structured.AllocatedState) (structured.Allocator, error) {
	return structured.NewAllocator(ctx, features, state, b.cluster, b.cluster.Slices, b.cache)
}

func (b *bench) giveBack(i int) {
	b.held.release(b.live[i])
	last := len(b.live) - 1
	b.live[i] = b.live[last]
	b.live = b.live[:last]
}

func (b *bench) countsCounters() bool {
	return slices.ContainsFunc(b.cluster.Slices, func(s *resourceapi.ResourceSlice) bool {
		return len(s.Spec.SharedCounters) > 0
	})
}

func summary(taken []time.Duration, complete bool, processor float64, tried int) answer {
	if len(taken) == 0 {
		return answer{Complete: complete}
	}
	busy := time.Duration(0)
	for _, one := range taken {
		busy += one
	}
	slices.Sort(taken)
	micros := func(i int) float64 { return float64(taken[i].Nanoseconds()) / 1e3 }
	return answer{
		Decisions:  len(taken),
		Busy:       busy.Seconds(),
		Processor:  processor,
		P50:        micros(len(taken) / 2),
		P99:        micros(len(taken) * 99 / 100),
		Longest:    micros(len(taken) - 1),
		NodesTried: float64(tried) / float64(len(taken)),
		Complete:   complete,
	}
}

func processorSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}
