#include "internal.h"
#include "shim_window.h"

nngpu_value nngpu_swapchain(nngpu_device *dev, nngpu_swapchain_info info) {
    nngpu_value out = {0};
    VkSwapchainCreateInfoKHR create = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
        .surface = NNGPU_HANDLE(VkSurfaceKHR, info.surface),
        .minImageCount = info.images,
        .imageFormat = (VkFormat)info.format,
        .imageColorSpace = (VkColorSpaceKHR)info.colour_space,
        .imageExtent = {info.width, info.height},
        .imageArrayLayers = 1,
        .imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
        .preTransform = (VkSurfaceTransformFlagBitsKHR)info.transform,
        .compositeAlpha = (VkCompositeAlphaFlagBitsKHR)info.alpha,
        .presentMode = info.mailbox ? VK_PRESENT_MODE_MAILBOX_KHR : VK_PRESENT_MODE_FIFO_KHR,
        .clipped = VK_TRUE,
    };
    VkSwapchainKHR swapchain = VK_NULL_HANDLE;
    out.result = dev->CreateSwapchainKHR(dev->handle, &create, NULL, &swapchain);
    out.value = NNGPU_VALUE(swapchain);
    return out;
}

nngpu_value nngpu_swapchain_images(nngpu_device *dev, uint64_t swapchain, uint64_t *images, uint32_t max) {
    nngpu_value out = {0};
    uint32_t count = max;
    out.result = dev->GetSwapchainImagesKHR(dev->handle, NNGPU_HANDLE(VkSwapchainKHR, swapchain), &count,
                                            (VkImage *)images); // handles are 64 bits wide, see internal.h
    out.value = count;
    return out;
}

void nngpu_swapchain_destroy(nngpu_device *dev, uint64_t swapchain) {
    dev->DestroySwapchainKHR(dev->handle, NNGPU_HANDLE(VkSwapchainKHR, swapchain), NULL);
}

nngpu_value nngpu_host_fence(nngpu_device *dev) {
    nngpu_value out = {0};
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence = VK_NULL_HANDLE;
    out.result = dev->CreateFence(dev->handle, &info, NULL, &fence);
    out.value = NNGPU_VALUE(fence);
    return out;
}

int32_t nngpu_host_fence_wait(nngpu_device *dev, uint64_t handle, uint64_t timeout_ns) {
    VkFence fence = NNGPU_HANDLE(VkFence, handle);
    VkResult r = dev->WaitForFences(dev->handle, 1, &fence, VK_TRUE, timeout_ns);
    return r == VK_SUCCESS ? dev->ResetFences(dev->handle, 1, &fence) : r;
}

void nngpu_host_fence_destroy(nngpu_device *dev, uint64_t fence) {
    dev->DestroyFence(dev->handle, NNGPU_HANDLE(VkFence, fence), NULL);
}

nngpu_value nngpu_acquire(nngpu_device *dev, uint64_t swapchain, uint64_t fence, uint64_t timeout_ns) {
    nngpu_value out = {0};
    uint32_t index = 0;
    out.result = dev->AcquireNextImageKHR(dev->handle, NNGPU_HANDLE(VkSwapchainKHR, swapchain), timeout_ns,
                                          VK_NULL_HANDLE, NNGPU_HANDLE(VkFence, fence), &index);
    out.value = index;
    return out;
}

static const VkImageSubresourceRange whole = {
    .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .levelCount = 1, .layerCount = 1};

// transition changes the layout of the image between two kinds of access.
static void transition(nngpu_device *dev, VkCommandBuffer cmd, VkImage image, VkImageLayout from, VkImageLayout to,
                       VkPipelineStageFlags src_stage, VkAccessFlags src, VkPipelineStageFlags dst_stage,
                       VkAccessFlags dst) {
    VkImageMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
        .srcAccessMask = src,
        .dstAccessMask = dst,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = whole,
    };
    dev->CmdPipelineBarrier(cmd, src_stage, dst_stage, 0, 0, NULL, 0, NULL, 1, &barrier);
}

int32_t nngpu_record_picture(nngpu_device *dev, uint64_t handle, nngpu_picture p) {
    const VkPipelineStageFlags transfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkCommandBuffer cmd = NNGPU_HANDLE(VkCommandBuffer, handle);
    VkImage image = NNGPU_HANDLE(VkImage, p.image);
    VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkMemoryBarrier drawn = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT,
    };
    VkClearColorValue black = {.float32 = {0, 0, 0, 1}};
    VkBufferImageCopy region = {
        .bufferOffset = p.offset,
        .bufferRowLength = p.row,
        .imageSubresource = {.aspectMask = VK_IMAGE_ASPECT_COLOR_BIT, .layerCount = 1},
        .imageOffset = {p.x, p.y, 0},
        .imageExtent = {p.width, p.height, 1},
    };
    VkResult r = dev->BeginCommandBuffer(cmd, &begin);
    if (r != VK_SUCCESS) {
        return r;
    }
    dev->CmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | transfer, transfer, 0, 1, &drawn, 0, NULL, 0, NULL);
    transition(dev, cmd, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, transfer, 0, transfer,
               VK_ACCESS_TRANSFER_WRITE_BIT);
    dev->CmdClearColorImage(cmd, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &black, 1, &whole);
    if (p.width > 0 && p.height > 0) {
        transition(dev, cmd, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, transfer,
                   VK_ACCESS_TRANSFER_WRITE_BIT, transfer, VK_ACCESS_TRANSFER_WRITE_BIT);
        dev->CmdCopyBufferToImage(cmd, NNGPU_HANDLE(VkBuffer, p.buffer), image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                                  &region);
    }
    transition(dev, cmd, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR, transfer,
               VK_ACCESS_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, 0);
    return dev->EndCommandBuffer(cmd);
}

int32_t nngpu_present(nngpu_device *dev, uint32_t queue, uint64_t handle, uint32_t image) {
    VkSwapchainKHR swapchain = NNGPU_HANDLE(VkSwapchainKHR, handle);
    VkPresentInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
        .swapchainCount = 1,
        .pSwapchains = &swapchain,
        .pImageIndices = &image,
    };
    return dev->QueuePresentKHR(dev->queue[queue], &info);
}
