package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ParseFacts reads the facts of a device from JSON, in which they have the names of the fields. Omitted ones are 0 or
// false. It refuses unknown names, and values that no device can have: below the least that Vulkan allows (Vulkan
// specification, "Required Limits").
func ParseFacts(data []byte) (*Facts, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	f := &Facts{}
	if err := d.Decode(f); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more follows behind the facts")
	}
	if f.Class != ClassCPU && f.Class != ClassGPU {
		return nil, fmt.Errorf("the Class is %s or %s, not %q", ClassCPU, ClassGPU, f.Class)
	}
	for _, limit := range []struct {
		name           string
		has, low, high int64
	}{
		{"MaxStorageRange", f.MaxStorageRange, 1 << 27, 1 << 40},
		{"MaxTexelElements", f.MaxTexelElements, 1 << 16, 1 << 40},
		{"StorageAlign", f.StorageAlign, 1, Align},
		{"TexelAlign", f.TexelAlign, 1, Align},
		{"MaxLocal[0]", int64(f.MaxLocal[0]), 128, 1 << 32},
		{"MaxLocal[1]", int64(f.MaxLocal[1]), 128, 1 << 32},
		{"MaxLocal[2]", int64(f.MaxLocal[2]), 64, 1 << 32},
		{"MaxInvocations", int64(f.MaxInvocations), 128, 1 << 32},
		{"MaxGroups[0]", int64(f.MaxGroups[0]), MaxGroups, 1 << 32},
		{"MaxGroups[1]", int64(f.MaxGroups[1]), MaxGroups, 1 << 32},
		{"MaxGroups[2]", int64(f.MaxGroups[2]), MaxGroups, 1 << 32},
		{"SubgroupSize", int64(f.SubgroupSize), 1, 128},
	} {
		if limit.has < limit.low || limit.has > limit.high {
			return nil, fmt.Errorf("%s is from %d to %d, not %d", limit.name, limit.low, limit.high, limit.has)
		}
	}
	return f, nil
}
