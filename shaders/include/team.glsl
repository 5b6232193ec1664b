// Rows that a team of invocations goes through together. The variant defines WORKGROUP: 1: a team is a workgroup; 0: each
// subgroup is one, and TEAMS rows belong to a workgroup. Sums are formed within subgroups, then in the order of these.
#ifndef NNGPU_TEAM
#define NNGPU_TEAM

#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

// The workgroup, as counted by package emit.
uint groupIndex() { return gl_WorkGroupID.y * 32768u + gl_WorkGroupID.x; }

#if WORKGROUP
// One for each subgroup: if subgroups have few lanes there are as many as this.
shared vec4 parts[64];

uint member() { return gl_LocalInvocationID.x; }
uint members() { return gl_WorkGroupSize.x; }

void publish(vec4 v) {
    barrier(); // nobody reads the previous values any more
    if (subgroupElect()) parts[gl_SubgroupID] = v;
    barrier();
}

vec4 teamAdd(vec4 v) {
    publish(subgroupAdd(v));
    vec4 sum = parts[0];
    for (uint i = 1u; i < gl_NumSubgroups; i++) sum += parts[i];
    return sum;
}

vec4 teamMax(vec4 v) {
    publish(subgroupMax(v));
    vec4 most = parts[0];
    for (uint i = 1u; i < gl_NumSubgroups; i++) most = max(most, parts[i]);
    return most;
}

// Precedes what is done for each row of the team, of `count` rows in all.
#define TEAM_ROWS(row, count) \
    uint row = groupIndex(); \
    if (row < (count))
#else
uint member() { return gl_SubgroupInvocationID; }
uint members() { return gl_SubgroupSize; }
vec4 teamAdd(vec4 v) { return subgroupAdd(v); }
vec4 teamMax(vec4 v) { return subgroupMax(v); }
#define TEAM_ROWS(row, count) \
    uint behind = min((groupIndex() + 1u) * TEAMS, (count)); \
    for (uint row = groupIndex() * TEAMS + gl_SubgroupID; row < behind; row += gl_NumSubgroups)
#endif

#endif
