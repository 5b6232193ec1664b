// Package window opens the window of `nngpu live`: where it is, which keys are pressed, when it is closed. A device
// puts there what it shows, through a gpu.Screen; the package knows no Vulkan.
//
// Of glfw only the window is used. Its Vulkan part opens a libvulkan of its own, whose instance is not ours.
//
// Without the build tag `window` the package is empty, so that nothing else needs glfw or the headers of X11.
package window
