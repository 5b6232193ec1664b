package vk

import (
	"errors"
	"fmt"
)

// Result is a VkResult.
type Result int32

// Results that this project tells apart.
const (
	success               Result = 0
	notReady              Result = 1
	timeout               Result = 2
	incomplete            Result = 5
	outOfHostMemory       Result = -1
	outOfDeviceMemory     Result = -2
	initializationFailed  Result = -3
	deviceLost            Result = -4
	memoryMapFailed       Result = -5
	layerNotPresent       Result = -6
	extensionNotPresent   Result = -7
	featureNotPresent     Result = -8
	incompatibleDriver    Result = -9
	tooManyObjects        Result = -10
	formatNotSupported    Result = -11
	fragmentedPool        Result = -12
	unknown               Result = -13
	suboptimal            Result = 1000001003
	surfaceLost           Result = -1000000000
	windowInUse           Result = -1000000001
	outOfDate             Result = -1000001004
	outOfPoolMemory       Result = -1000069000
	invalidExternalHandle Result = -1000072003
	fragmentation         Result = -1000161000
	notPermitted          Result = -1000174001
)

// Results that others look for, or inject.
const (
	ResultSuccess              = success
	ResultOutOfHostMemory      = outOfHostMemory
	ResultOutOfDeviceMemory    = outOfDeviceMemory
	ResultInitializationFailed = initializationFailed
	ResultDeviceLost           = deviceLost
	ResultUnknown              = unknown
	ResultNotPermitted         = notPermitted
	ResultSurfaceLost          = surfaceLost
	ResultOutOfDate            = outOfDate
)

var resultNames = map[Result]string{
	success: "VK_SUCCESS", timeout: "VK_TIMEOUT", incomplete: "VK_INCOMPLETE",
	outOfHostMemory: "VK_ERROR_OUT_OF_HOST_MEMORY", outOfDeviceMemory: "VK_ERROR_OUT_OF_DEVICE_MEMORY",
	initializationFailed: "VK_ERROR_INITIALIZATION_FAILED", deviceLost: "VK_ERROR_DEVICE_LOST",
	memoryMapFailed: "VK_ERROR_MEMORY_MAP_FAILED", layerNotPresent: "VK_ERROR_LAYER_NOT_PRESENT",
	extensionNotPresent: "VK_ERROR_EXTENSION_NOT_PRESENT", featureNotPresent: "VK_ERROR_FEATURE_NOT_PRESENT",
	incompatibleDriver: "VK_ERROR_INCOMPATIBLE_DRIVER", tooManyObjects: "VK_ERROR_TOO_MANY_OBJECTS",
	formatNotSupported: "VK_ERROR_FORMAT_NOT_SUPPORTED", fragmentedPool: "VK_ERROR_FRAGMENTED_POOL",
	unknown: "VK_ERROR_UNKNOWN", outOfPoolMemory: "VK_ERROR_OUT_OF_POOL_MEMORY",
	invalidExternalHandle: "VK_ERROR_INVALID_EXTERNAL_HANDLE", fragmentation: "VK_ERROR_FRAGMENTATION",
	notPermitted: "VK_ERROR_NOT_PERMITTED", notReady: "VK_NOT_READY", suboptimal: "VK_SUBOPTIMAL_KHR",
	surfaceLost: "VK_ERROR_SURFACE_LOST_KHR", windowInUse: "VK_ERROR_NATIVE_WINDOW_IN_USE_KHR",
	outOfDate: "VK_ERROR_OUT_OF_DATE_KHR",
}

func (r Result) String() string {
	if s, ok := resultNames[r]; ok {
		return s
	}
	return fmt.Sprintf("VkResult(%d)", int32(r))
}

// What callers branch on.
var (
	// ErrNoLoader: no Vulkan library could be opened.
	ErrNoLoader = errors.New("no Vulkan loader")
	// ErrIncompatibleDriver: no driver can be used, or the one at hand is older than Vulkan 1.1.
	ErrIncompatibleDriver = errors.New("incompatible Vulkan driver")
	// ErrDeviceLost: the device stopped; everything made from it is useless.
	ErrDeviceLost = errors.New("lost the Vulkan device")
	// ErrOutOfMemory: host or device memory, or a pool, is exhausted.
	ErrOutOfMemory = errors.New("out of Vulkan memory")
	// ErrNoLayer: the validation layer was asked for and is not installed.
	ErrNoLayer = errors.New("no Vulkan validation layer")
	// ErrNotSupported: the device lacks the ability, or has it for other sizes and addresses only.
	ErrNotSupported = errors.New("not supported by the Vulkan device")
	// ErrOutOfDate: the swapchain no longer fits its window, mostly because that was resized; a new one will.
	ErrOutOfDate = errors.New("outdated Vulkan swapchain")
	// ErrSurfaceLost: the window is gone.
	ErrSurfaceLost = errors.New("lost the window")
	// ErrInvalidHandle: the fd is not what was said of it, as the driver or this package judges.
	ErrInvalidHandle = errors.New("not a handle for the Vulkan device")
)

// Error is a Vulkan call that failed. errors.Is finds the sentinels above in it.
type Error struct {
	Call   string // "vkQueueSubmit"
	Result Result
}

func (e *Error) Error() string { return e.Call + ": " + e.Result.String() }

// Is maps the result to the sentinel errors.
func (e *Error) Is(target error) bool {
	switch e.Result {
	case deviceLost:
		return target == ErrDeviceLost
	case outOfHostMemory, outOfDeviceMemory, fragmentedPool, outOfPoolMemory, fragmentation, tooManyObjects:
		return target == ErrOutOfMemory
	case incompatibleDriver:
		return target == ErrIncompatibleDriver
	case layerNotPresent:
		return target == ErrNoLayer
	case extensionNotPresent:
		return target == ErrNotSupported
	case outOfDate:
		return target == ErrOutOfDate
	case surfaceLost:
		return target == ErrSurfaceLost
	case invalidExternalHandle:
		return target == ErrInvalidHandle
	}
	return false
}

// check is the only place where a VkResult becomes an error.
func check[R ~int32](call string, r R) error {
	if Result(r) == success {
		return nil
	}
	return &Error{Call: call, Result: Result(r)}
}
