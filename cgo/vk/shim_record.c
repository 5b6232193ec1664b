#include "internal.h"

nngpu_value nngpu_command_pool(nngpu_device *dev) {
    nngpu_value out = {0};
    VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = dev->family,
    };
    VkCommandPool pool = VK_NULL_HANDLE;
    out.result = dev->CreateCommandPool(dev->handle, &info, NULL, &pool);
    out.value = NNGPU_VALUE(pool);
    return out;
}

int32_t nngpu_command_buffers(nngpu_device *dev, uint64_t pool, uint32_t count, uint64_t *cmds) {
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = NNGPU_HANDLE(VkCommandPool, pool),
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = count,
    };
    return dev->AllocateCommandBuffers(dev->handle, &info, (VkCommandBuffer *)cmds);
}

static void record_barrier(nngpu_device *dev, VkCommandBuffer cmd, const nngpu_op *op) {
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = op->n2,
        .dstAccessMask = op->n3,
    };
    dev->CmdPipelineBarrier(cmd, op->n0, op->n1, 0, 1, &barrier, 0, NULL, 0, NULL);
}

int32_t nngpu_record(nngpu_device *dev, uint64_t handle, const nngpu_op *ops, uint64_t count, const uint32_t *push,
                     uint64_t push_words) {
    VkCommandBuffer cmd = NNGPU_HANDLE(VkCommandBuffer, handle);
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkResult r = dev->BeginCommandBuffer(cmd, &begin);
    if (r != VK_SUCCESS) {
        return r;
    }
    for (uint64_t i = 0; i < count; i++) {
        const nngpu_op *op = &ops[i];
        switch (op->kind) {
        case NNGPU_OP_PIPELINE:
            dev->CmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, NNGPU_HANDLE(VkPipeline, op->h0));
            break;
        case NNGPU_OP_SET: {
            VkDescriptorSet set = NNGPU_HANDLE(VkDescriptorSet, op->h0);
            dev->CmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, NNGPU_HANDLE(VkPipelineLayout, op->h1),
                                       op->n0, 1, &set, 0, NULL);
            break;
        }
        case NNGPU_OP_PUSH:
            if ((uint64_t)op->n0 + op->n1 > push_words) {
                return VK_ERROR_UNKNOWN;
            }
            dev->CmdPushConstants(cmd, NNGPU_HANDLE(VkPipelineLayout, op->h1), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                  op->n1 * 4, push + op->n0);
            break;
        case NNGPU_OP_DISPATCH:
            dev->CmdDispatch(cmd, op->n0, op->n1, op->n2);
            break;
        case NNGPU_OP_DISPATCH_BASE:
            dev->CmdDispatchBase(cmd, op->n3, op->n4, op->n5, op->n0, op->n1, op->n2);
            break;
        case NNGPU_OP_COPY: {
            VkBufferCopy region = {.srcOffset = op->s0, .dstOffset = op->s1, .size = op->s2};
            dev->CmdCopyBuffer(cmd, NNGPU_HANDLE(VkBuffer, op->h0), NNGPU_HANDLE(VkBuffer, op->h1), 1, &region);
            break;
        }
        case NNGPU_OP_FILL:
            dev->CmdFillBuffer(cmd, NNGPU_HANDLE(VkBuffer, op->h0), op->s0, op->s2, op->n0);
            break;
        case NNGPU_OP_BARRIER:
            record_barrier(dev, cmd, op);
            break;
        case NNGPU_OP_RESET_QUERIES:
            dev->CmdResetQueryPool(cmd, NNGPU_HANDLE(VkQueryPool, op->h0), op->n0, op->n1);
            break;
        case NNGPU_OP_TIMESTAMP:
            dev->CmdWriteTimestamp(cmd, (VkPipelineStageFlagBits)op->n1, NNGPU_HANDLE(VkQueryPool, op->h0), op->n0);
            break;
        default:
            return VK_ERROR_UNKNOWN;
        }
    }
    return dev->EndCommandBuffer(cmd);
}
