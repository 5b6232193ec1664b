// Blocks of 4 by 4 bytes.
#ifndef NNGPU_TURN
#define NNGPU_TURN

// v[k] has bytes k of a, b, c and d. Works by halves of words, without shifts of vectors.
void turn(uint a, uint b, uint c, uint d, out uint v[4]) {
    uint ab = (a & 0x00ff00ffu) | ((b & 0x00ff00ffu) << 8), cd = (c & 0x00ff00ffu) | ((d & 0x00ff00ffu) << 8);
    v[0] = (ab & 0xffffu) | (cd << 16);
    v[2] = (ab >> 16) | (cd & 0xffff0000u);
    ab = ((a >> 8) & 0x00ff00ffu) | (b & 0xff00ff00u);
    cd = ((c >> 8) & 0x00ff00ffu) | (d & 0xff00ff00u);
    v[1] = (ab & 0xffffu) | (cd << 16);
    v[3] = (ab >> 16) | (cd & 0xffff0000u);
}

#endif
