package vulkan

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/gpu/internal/plan"
)

// DeviceInfo describes a device that Open can be asked for.
type DeviceInfo struct {
	Index  int    // in the order of Enumerate; a selector for Open
	Name   string // as the implementation reports it
	Driver string // name and version of the driver
	API    string // Vulkan version
	Facts  plan.Facts
	// External says which foreign memory is used in place.
	External External
	// Matrices are the products of matrices that the device computes as one operation.
	Matrices []vk.Matrix
	// Properties are the limits and identities that Vulkan reports.
	Properties *vk.Properties
	// Unusable says why Open refuses the device; nil for a usable one.
	Unusable error
}

// Software implementations that can be chosen by name, whatever else is installed.
const (
	SwiftShader = "swiftshader"
	Lavapipe    = "lavapipe"
)

// ErrUnknownDevice: no device answers to the selector.
var ErrUnknownDevice = errors.New("no such Vulkan device")

// Enumerate lists the devices of the installed drivers and of SwiftShader where it is found. The error is
// vk.ErrNoLoader where Vulkan is absent and vk.ErrIncompatibleDriver where no driver works.
func Enumerate() ([]DeviceInfo, error) {
	inst, err := openInstance("", vk.InstanceOptions{})
	if err != nil {
		return nil, err
	}
	defer inst.Close()
	list, _, err := describeAll(inst)
	return list, err
}

// openInstance loads only the chosen software implementation, or else everything. It sets the environment in o.
func openInstance(selector string, o vk.InstanceOptions) (*vk.Instance, error) {
	swiftShader := findSwiftShader()
	lib, err := loadLibrary(swiftShader)
	if err != nil {
		return nil, err
	}
	if lib.ICD {
		inst, err := vk.NewInstance(o)
		return inst, wrapInstance(err, lib.Path)
	}
	var inst *vk.Instance
	create := func(env []vk.Env, driver string, manifests ...string) error {
		if err := allRegular(slices.Concat(manifests, layerManifests())); err != nil {
			return err
		}
		o.Env = env
		var err error
		inst, err = vk.NewInstance(o)
		return wrapInstance(err, driver, manifests...)
	}
	only := func(s softwareDriver) error {
		return s.withManifest(func(path string) error {
			env := []vk.Env{{Name: "VK_DRIVER_FILES", Value: path}, {Name: "VK_ICD_FILENAMES", Value: path}}
			return create(env, cmp.Or(s.manifest, s.lib), path)
		})
	}
	switch name := strings.ToLower(selector); {
	case name == SwiftShader && swiftShader.found():
		err = only(swiftShader)
	case name == SwiftShader:
		err = fmt.Errorf("%w: SwiftShader: %s", ErrUnknownDevice, noSwiftShader())
	case name == Lavapipe:
		lavapipe := findLavapipe()
		if !lavapipe.found() {
			err = fmt.Errorf("%w: lavapipe: %s", ErrUnknownDevice, noLavapipe())
			break
		}
		err = only(lavapipe)
	case swiftShader.found() && os.Getenv("VK_DRIVER_FILES") == "" && os.Getenv("VK_ICD_FILENAMES") == "":
		err = swiftShader.withManifest(func(path string) error {
			manifests := append(loaderManifests(), path)
			if more := os.Getenv("VK_ADD_DRIVER_FILES"); more != "" {
				path = more + ":" + path
			}
			return create([]vk.Env{{Name: "VK_ADD_DRIVER_FILES", Value: path}}, "the installed drivers", manifests...)
		})
	default:
		err = create(nil, "the installed drivers", loaderManifests()...)
	}
	return inst, err
}

// describeAll lists the devices; the second result holds what Open needs of each.
func describeAll(inst *vk.Instance) ([]DeviceInfo, []vk.Physical, error) {
	physicals, err := inst.PhysicalDevices()
	if err != nil {
		return nil, nil, err
	}
	list := make([]DeviceInfo, len(physicals))
	for i, p := range physicals {
		list[i] = describe(p)
		list[i].Index = i
	}
	return list, physicals, nil
}

func describe(p vk.Physical) DeviceInfo {
	props, err := p.Properties()
	if err != nil {
		return DeviceInfo{Name: "?", Properties: &vk.Properties{}, Unusable: err}
	}
	d := DeviceInfo{Name: props.Name, Driver: driverName(props), API: props.APIVersion(), Properties: props}
	family := queueFamily(p.QueueFamilies())
	switch {
	case !props.Timeline:
		d.Unusable = fmt.Errorf("no timeline semaphores: %w", vk.ErrIncompatibleDriver)
	case family < 0:
		d.Unusable = fmt.Errorf("no compute queue: %w", vk.ErrIncompatibleDriver)
	default:
		d.Matrices = p.Matrices()
		d.Facts = facts(props, p.QueueFamilies()[family])
		d.Facts.Matrices = matrices(props, d.Matrices)
		d.Unusable = pretend(&d.Facts)
		d.External = external(props)
	}
	return d
}

func driverName(p *vk.Properties) string {
	name := strings.TrimSpace(p.DriverName + " " + p.DriverInfo)
	if name == "" {
		return fmt.Sprintf("vendor %#x driver %#x", p.VendorID, p.DriverVersion)
	}
	return name
}

// queueFamily prefers queues without graphics, which do not wait behind the desktop; -1 when there is none.
func queueFamily(list []vk.QueueFamily) int {
	best := -1
	for i, f := range list {
		if f.Compute && f.Count > 0 && (best < 0 || list[best].Graphics && !f.Graphics) {
			best = i
		}
	}
	return best
}

// rank orders devices for the empty selector: the smaller, the better.
func rank(p *vk.Properties) int {
	switch p.Type {
	case vk.TypeDiscrete:
		return 0
	case vk.TypeIntegrated:
		return 1
	case vk.TypeVirtual:
		return 2
	case vk.TypeCPU:
		if isLavapipe(p) { // several times faster than the other one
			return 4
		}
		return 5
	}
	return 3
}

func isLavapipe(p *vk.Properties) bool {
	return strings.Contains(strings.ToLower(p.Name+" "+p.DriverName), "llvmpipe")
}

// matches says whether d answers to the selector, by name.
func matches(d *DeviceInfo, selector string) bool {
	name := strings.ToLower(selector)
	if name == Lavapipe {
		return isLavapipe(d.Properties)
	}
	return strings.Contains(strings.ToLower(d.Name), name) ||
		name == SwiftShader && strings.Contains(strings.ToLower(d.Driver), name)
}

// choose returns the index of the device that the selector means.
func choose(list []DeviceInfo, selector string) (int, error) {
	if len(list) == 0 {
		return 0, fmt.Errorf("%w: the installed drivers have no device; make demo installs a software driver", ErrUnknownDevice)
	}
	if i, err := strconv.Atoi(selector); err == nil {
		if i < 0 || i >= len(list) {
			return 0, fmt.Errorf("%w: index %d; known are %s", ErrUnknownDevice, i, names(list))
		}
		return usable(&list[i])
	}
	var fit []*DeviceInfo
	for i := range list {
		if matches(&list[i], selector) {
			fit = append(fit, &list[i])
		}
	}
	if len(fit) == 0 {
		return 0, fmt.Errorf("%w: %q; known are %s", ErrUnknownDevice, selector, names(list))
	}
	best := slices.MinFunc(fit, func(a, b *DeviceInfo) int {
		if (a.Unusable == nil) != (b.Unusable == nil) {
			if a.Unusable == nil {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(rank(a.Properties), rank(b.Properties)), cmp.Compare(a.Index, b.Index))
	})
	return usable(best)
}

func usable(d *DeviceInfo) (int, error) {
	if d.Unusable != nil {
		return 0, fmt.Errorf("device %d (%s): %w", d.Index, d.Name, d.Unusable)
	}
	return d.Index, nil
}

func names(list []DeviceInfo) string {
	var b strings.Builder
	for i := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d: %q", i, list[i].Name)
	}
	return b.String()
}
