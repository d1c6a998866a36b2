package main

import (
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
)

// cluster is what benchmarks/workloads.py wrote: the same objects that our side is told of.
type cluster struct {
	Class  resourceapi.DeviceClass
	Claim  resourceapi.ResourceClaimSpec
	Slices []*resourceapi.ResourceSlice
	Nodes  []string
	// Held has the results of one claim in each entry.
	Held [][]resourceapi.DeviceRequestAllocationResult
}

func readCluster(path string) (*cluster, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	read := &cluster{}
	if err := json.NewDecoder(file).Decode(read); err != nil {
		return nil, fmt.Errorf("%s is no cluster: %w", path, err)
	}
	setDefaults(&read.Claim)
	return read, nil
}

// setDefaults fills in what the API server would have.
func setDefaults(spec *resourceapi.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		exactly := spec.Devices.Requests[i].Exactly
		if exactly == nil {
			continue
		}
		if exactly.AllocationMode == "" {
			exactly.AllocationMode = resourceapi.DeviceAllocationModeExactCount
		}
		if exactly.Count == 0 && exactly.AllocationMode == resourceapi.DeviceAllocationModeExactCount {
			exactly.Count = 1
		}
	}
}

func (c *cluster) nodeObjects() []*v1.Node {
	nodes := make([]*v1.Node, len(c.Nodes))
	for i, name := range c.Nodes {
		nodes[i] = &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return nodes
}

// List and Get make a cluster the lister of its only device class.
func (c *cluster) List() ([]*resourceapi.DeviceClass, error) {
	return []*resourceapi.DeviceClass{&c.Class}, nil
}

func (c *cluster) Get(name string) (*resourceapi.DeviceClass, error) {
	if name != c.Class.Name {
		return nil, fmt.Errorf("there is no device class %s", name)
	}
	return &c.Class, nil
}

// holdings is what kube-scheduler keeps about allocated claims (allocateddevices.go there):
// whole devices, shares of devices, and the sum of what the shares of a device consume.
type holdings struct{ structured.AllocatedState }

func newHoldings() holdings {
	return holdings{structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}}
}

func (h holdings) clone() structured.AllocatedState {
	return structured.AllocatedState{
		AllocatedDevices:         h.AllocatedDevices.Clone(),
		AllocatedSharedDeviceIDs: h.AllocatedSharedDeviceIDs.Clone(),
		AggregatedCapacity:       h.AggregatedCapacity.Clone(),
	}
}

func (h holdings) hold(results []resourceapi.DeviceRequestAllocationResult) {
	for i := range results {
		id, share, consumed := parts(&results[i])
		if share == nil {
			h.AllocatedDevices.Insert(id)
			continue
		}
		h.AllocatedSharedDeviceIDs.Insert(*share)
		h.AggregatedCapacity.Insert(consumed)
	}
}

func (h holdings) release(results []resourceapi.DeviceRequestAllocationResult) {
	for i := range results {
		id, share, consumed := parts(&results[i])
		if share == nil {
			h.AllocatedDevices.Delete(id)
			continue
		}
		h.AllocatedSharedDeviceIDs.Delete(*share)
		h.AggregatedCapacity.Remove(consumed)
	}
}

func parts(result *resourceapi.DeviceRequestAllocationResult) (
	structured.DeviceID, *structured.SharedDeviceID, structured.DeviceConsumedCapacity,
) {
	id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
	if result.ShareID == nil {
		return id, nil, structured.DeviceConsumedCapacity{}
	}
	share := structured.MakeSharedDeviceID(id, result.ShareID)
	return id, &share, structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity)
}
