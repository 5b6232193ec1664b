package main

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/nngpu/nngpu/cmd/nngpu/internal/console"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/gpu"
)

// infoResult is the JSON of `nngpu info`.
type infoResult struct {
	Devices []infoDevice `json:"devices"`
}

type infoDevice struct {
	Index      int    `json:"index"` // named for one that is not installed
	Name       string `json:"name"`
	Driver     string `json:"driver"`
	APIVersion string `json:"api_version"`
	Type       string `json:"type"`
	// Chosen: the device that the other commands use with the same --device.
	Chosen bool `json:"chosen"`
	// Unusable says why the device is refused; then nothing below is known.
	Unusable string        `json:"unusable,omitempty"`
	Class    string        `json:"class,omitempty"`
	Variants string        `json:"variants,omitempty"`
	Limits   *infoLimits   `json:"limits,omitempty"`
	Features *infoFeatures `json:"features,omitempty"`
	Measured *infoMeasured `json:"measured,omitempty"`
	// Memory is what becomes of the memory of pools, by kind, and ExportsBuffers whether buffers can leave the device.
	Memory         []gpu.PoolKind `json:"memory,omitempty"`
	ExportsBuffers bool           `json:"exports_buffers"`
	// Matrices are the products of matrices that the device computes as one operation.
	Matrices []gpu.Matrix `json:"matrices,omitempty"`
	// Queues that are in use and how they rank beside those of other processes: of the chosen device.
	Queues         int    `json:"queues,omitempty"`
	GlobalPriority string `json:"global_priority,omitempty"`
}

type infoLimits struct {
	StorageBufferBytes   int64  `json:"storage_buffer_bytes"`
	TexelBufferElements  int64  `json:"texel_buffer_elements"`
	StorageAlignment     int64  `json:"storage_alignment"`
	TexelAlignment       int64  `json:"texel_alignment"`
	WorkgroupInvocations uint32 `json:"workgroup_invocations"`
	WorkgroupSizeX       uint32 `json:"workgroup_size_x"`
	WorkgroupCountX      uint32 `json:"workgroup_count_x"`
	WorkgroupCountY      uint32 `json:"workgroup_count_y"`
	SubgroupSize         uint32 `json:"subgroup_size"`
}

type infoFeatures struct {
	IntegerDotProduct     bool    `json:"integer_dot_product"`
	IntegerDotAccelerated bool    `json:"integer_dot_product_accelerated"`
	StorageTexelRGBA32F   bool    `json:"storage_texel_rgba32f"`
	UnifiedMemory         bool    `json:"unified_memory"`
	TimestampNanoseconds  float64 `json:"timestamp_nanoseconds"` // of one tick; 0 without timestamps
}

func (a *app) infoCommand() *cobra.Command {
	var measure bool
	c := &cobra.Command{
		Use:   "info",
		Short: "List the Vulkan devices, their limits and what is used of them",
		Long: `Lists the Vulkan devices with their limits, the features that are used and the kernels that are chosen,
and for each kind of pool whether the device uses its memory where it is or copies it.
A star marks the device that the other commands use with the same --device. A driver that is not installed, and
that only $NNGPU_LAVAPIPE names, has no index: --device lavapipe opens it.

With --measure it finds out what the chosen device can do at most, what kernels of networks reach, and what a
dispatch, a barrier, a timestamp and a submission cost. That is kept for later runs with how busy the machine was: the
compiler divides networks by it, deadlines are judged by it until a network has run, and profile compares with it.`,
		Args: exactArgs(0, "no arguments"),
		RunE: func(c *cobra.Command, _ []string) error {
			if measure {
				if err := a.measureChosen(c.Context()); err != nil {
					return err
				}
			}
			return a.info()
		},
	}
	c.Flags().BoolVar(&measure, "measure", false, "measure first what the chosen device can do, for some seconds, and keep it")
	return c
}

func (a *app) info() error {
	list, err := gpu.Devices()
	if err != nil && !strings.EqualFold(a.device, lavapipe) { // which needs no installed driver
		return err
	}
	list = append(list, namedDevices(list)...)
	switch {
	case len(list) == 0 && err != nil:
		return err
	case len(list) == 0:
		return &nn.Error{Status: nn.StatusDeviceUnavailable, Where: "Vulkan", Err: errors.New("the installed drivers have no device")}
	}
	res := infoResult{Devices: make([]infoDevice, len(list))}
	for i := range list {
		res.Devices[i] = describeDevice(&list[i])
	}
	if err := a.markChosen(res.Devices); err != nil {
		return err
	}
	return a.print(res, func() {
		for i := range res.Devices {
			a.printDevice(&res.Devices[i])
		}
	})
}

// markChosen marks the device that --device means. Without a usable device the list still has something to tell; a
// device that was asked for by name must be there.
func (a *app) markChosen(list []infoDevice) error {
	dev, err := a.openDevice()
	if err != nil && a.device == "" {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Name == dev.Info().Name && list[i].Driver == dev.Info().Driver {
			list[i].Chosen = true
			list[i].Queues, list[i].GlobalPriority = dev.Vulkan.Queues()
			break
		}
	}
	return dev.Close()
}

func describeDevice(d *gpu.Device) infoDevice {
	r := infoDevice{
		Index: d.Index, Name: d.Name, Driver: d.Driver, APIVersion: d.APIVersion, Type: d.Type, Unusable: d.Unusable,
	}
	if d.Unusable != "" {
		return r
	}
	f := &d.Facts
	r.Class, r.Variants = string(f.Class), d.Variants()
	r.Limits = &infoLimits{
		f.MaxStorageRange, f.MaxTexelElements, f.StorageAlign, f.TexelAlign,
		f.MaxInvocations, f.MaxLocal[0], f.MaxGroups[0], f.MaxGroups[1], f.SubgroupSize,
	}
	r.Features = &infoFeatures{f.IntegerDot, f.IntegerDotFast, f.StorageTexelRGBA32F, f.Unified, f.TimestampPeriod}
	r.Measured = describeMeasured(d.Measured)
	r.Memory, r.ExportsBuffers = d.External.Pools, d.External.Export
	r.Matrices = d.Matrices
	return r
}

func (a *app) printDevice(d *infoDevice) {
	star := " "
	if d.Chosen {
		star = "*"
	}
	selector := strconv.Itoa(d.Index)
	if d.Index == named {
		selector = lavapipe
	}
	a.printf("%s %s: %s\n", star, selector, d.Name)
	a.printf("     driver   %s, Vulkan %s, %s\n", d.Driver, d.APIVersion, d.Type)
	if d.Unusable != "" {
		a.printf("     cannot be used: %s\n", d.Unusable)
		return
	}
	l, f := d.Limits, d.Features
	a.printf("     class    %s, %s\n", d.Class, d.Variants)
	a.printf("     limits   %d MiB a storage buffer, %d texels a texel buffer, %d invocations a workgroup, subgroups of %d\n",
		l.StorageBufferBytes>>20, l.TexelBufferElements, l.WorkgroupInvocations, l.SubgroupSize)
	a.printf("     features integer dot product %s, unified memory %s, timestamps %s\n",
		dotText(f), yesNo(f.UnifiedMemory), yesNo(f.TimestampNanoseconds > 0))
	for i, m := range d.Matrices {
		title := "matrices"
		if i > 0 {
			title = ""
		}
		a.printf("     %-8s %s x %s + %s = %s, %dx%dx%d, of a %s\n", title, m.A, m.B, m.C, m.Result, m.M, m.N, m.K, m.Scope)
	}
	a.printMeasured(d.Measured)
	a.printMemory(d)
}

func dotText(f *infoFeatures) string {
	if f.IntegerDotProduct && !f.IntegerDotAccelerated {
		return "yes (not accelerated)"
	}
	return yesNo(f.IntegerDotProduct)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// printMemory prints what the device does with each kind of pool, and its queues.
func (a *app) printMemory(d *infoDevice) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	title := "memory"
	for _, p := range d.Memory {
		kind := p.Kind
		if p.Source != "" {
			kind += ", " + p.Source
		}
		console.Printf(w, "     %-8s %s\t%s\t%s\n", title, kind, p.Use, p.Why)
		title = ""
	}
	console.Printf(w, "     %-8s %s\t%s\t%s\n", title, "buffers of the driver", exported(d.ExportsBuffers), "to other processes, as opaque fds")
	_ = w.Flush()
	if d.Queues > 0 {
		a.printf("     queues   %d, of global priority %s\n", d.Queues, d.GlobalPriority)
	}
}

func exported(b bool) string {
	if b {
		return "exported"
	}
	return "kept"
}

// lavapipe is the selector of that software device, see gpu.Open.
const lavapipe = "lavapipe"

// named is the index of a device that is no part of the installed drivers' list: only its name opens it.
const named = -1

// namedDevices are the devices of the driver whose manifest $NNGPU_LAVAPIPE names, which --device lavapipe opens,
// without those in list. None where the driver cannot be started: opening it says why.
//
// It changes the environment for as long as it runs, and so must not run beside anything that uses Vulkan.
func namedDevices(list []gpu.Device) []gpu.Device {
	manifest := os.Getenv("NNGPU_LAVAPIPE")
	if st, err := os.Stat(manifest); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	// Both names: older loaders know the second one only.
	for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
		defer restoreEnv(name)()
		if err := os.Setenv(name, manifest); err != nil {
			return nil
		}
	}
	found, err := gpu.Devices()
	if err != nil {
		return nil
	}
	found = slices.DeleteFunc(found, func(d gpu.Device) bool {
		return slices.ContainsFunc(list, func(l gpu.Device) bool { return l.Name == d.Name && l.Driver == d.Driver })
	})
	for i := range found {
		found[i].Index = named
	}
	return found
}

// restoreEnv returns a function that gives the variable its present value back.
func restoreEnv(name string) func() {
	value, set := os.LookupEnv(name)
	return func() {
		// Neither fails for a name that was set before.
		if set {
			_ = os.Setenv(name, value)
		} else {
			_ = os.Unsetenv(name)
		}
	}
}
