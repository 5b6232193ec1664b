package vulkan

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/nngpu/nngpu/cgo/vk"
	"github.com/nngpu/nngpu/driver/backend"
)

const (
	// stagingBytes bounds the host memory that a transfer takes, and how much is read between two looks at a context.
	stagingBytes = 16 << 20
	// mappedBytes is how much is read between two looks at a context where nothing is staged. It is larger, because weights
	// that two reads share are made in memory of their own and copied.
	mappedBytes = 64 << 20
)

// upload fills b with the first n bytes of data and zeros behind them. data is read front to back, straight
// into b where the host sees it, else into staging memory.
func (b *block) upload(ctx context.Context, data backend.Data, n, budget int64) error {
	if n > b.bytes {
		return fmt.Errorf("%d bytes of data for a buffer of %d", n, b.bytes)
	}
	if b.host != nil {
		for at := int64(0); at < n; at += mappedBytes {
			if err := readFull(ctx, data, b.host[at:min(at+mappedBytes, n)], at); err != nil {
				return err
			}
		}
		clear(b.host[n:])
		return nil
	}
	return b.staged(budget, func(staging *block, at, size int64) error {
		read := min(max(n-at, 0), size)
		if err := readFull(ctx, data, staging.host[:read], at); err != nil {
			return err
		}
		clear(staging.host[read:size])
		var c vk.Commands
		c.Copy(staging.buffer, 0, b.buffer, at, size)
		c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, computeTransfer, deviceAccess)
		return b.dev.runOnce(&c)
	})
}

// download copies the first bytes of b to dst.
func (b *block) download(dst []byte, budget int64) error {
	if int64(len(dst)) > b.bytes {
		return fmt.Errorf("%d bytes of a buffer of %d", len(dst), b.bytes)
	}
	if b.host != nil && b.cached {
		copy(dst, b.host)
		return nil
	}
	return b.staged(budget, func(staging *block, at, size int64) error {
		if at >= int64(len(dst)) {
			return nil
		}
		var c vk.Commands
		c.Barrier(computeTransfer, deviceWrites, vk.StageTransfer, vk.AccessTransferRead|vk.AccessTransferWrite)
		c.Copy(b.buffer, at, staging.buffer, 0, size)
		c.Barrier(vk.StageTransfer, vk.AccessTransferWrite, vk.StageHost, vk.AccessHostRead)
		if err := b.dev.runOnce(&c); err != nil {
			return err
		}
		copy(dst[at:], staging.host[:size])
		return nil
	})
}

// staged calls f for b piece by piece, with staging memory of at least the piece's size.
func (b *block) staged(budget int64, f func(staging *block, at, size int64) error) error {
	staging, err := b.dev.newBlock(min(b.bytes, stagingBytes), budget, hostBlock, "staging memory")
	if err != nil {
		return err
	}
	defer staging.free()
	for at := int64(0); at < b.bytes; at += staging.bytes {
		if err := f(staging, at, min(staging.bytes, b.bytes-at)); err != nil {
			return err
		}
	}
	return nil
}

// readFull fills dst with what data has at offset at.
func readFull(ctx context.Context, data backend.Data, dst []byte, at int64) error {
	if err := ctx.Err(); err != nil || len(dst) == 0 {
		return err
	}
	n, err := data.ReadAt(dst, at)
	if n == len(dst) { // also with io.EOF
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%d of %d bytes at %d: %w", n, len(dst), at, err)
}
