// Package needcgo does not compile without cgo, and its one error says what to do. The binding of Vulkan imports it;
// files of it that import github.com/vulkan-go/vulkan have the constraint cgo beside, because that package fails with
// pages of undefined names. On other systems than Linux needlinux alone fails.
package needcgo
