// Shared by all kernels: the flat invocation index and the shape of a workgroup.
#ifndef NNGPU_COMMON
#define NNGPU_COMMON

#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_include_directive : require

// spec id | name       | meaning                    | set by
// 0       | local_x    | workgroup size in x        | plan.Step.Local
// Variants whose workgroups have one shape define LOCAL_X and LOCAL_Y, and have no flatIndex.
#ifdef LOCAL_X
layout(local_size_x = LOCAL_X, local_size_y = LOCAL_Y) in;
#else
layout(local_size_x_id = 0) in;

// One flat index over the whole dispatch: workgroups are laid out in rows of 32768, so that more than
// 65535 of them fit. Ranges of a dispatch (vkCmdDispatchBase) keep their indexes.
uint flatIndex() {
    return (gl_WorkGroupID.y * 32768u + gl_WorkGroupID.x) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}
#endif

#endif
