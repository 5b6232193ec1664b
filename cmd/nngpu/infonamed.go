package main

import (
	"os"
	"slices"

	"github.com/nngpu/nngpu/gpu"
)

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

// restoreEnv returns what gives the variable the value back that it has now.
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
