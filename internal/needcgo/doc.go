// Package needcgo does not compile without cgo, and its one error says what to do. The binding of Vulkan imports it;
// its files that import github.com/vulkan-go/vulkan also have the constraint cgo, because that package fails with pages
// of undefined names. On systems other than Linux only needlinux fails.
package needcgo
