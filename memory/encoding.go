package memory

import (
	"encoding/binary"
	"os"

	"github.com/nngpu/nngpu/driver/nn"
)

// The encoding of handles; memory/README.md describes it.
const (
	handleMagic   = "NNGP"
	handleVersion = 1
	handleFixed   = 104 // bytes before the kind
	maxKind       = 64  // bytes of a kind's name
	maxFiles      = 253 // SCM_MAX_FD of linux/net/scm.h
)

// MarshalBinary encodes the handle without its descriptors, only their number. It fails for a kind whose name is too
// long or empty and for too many descriptors, and checks nothing else.
func (h Handle) MarshalBinary() ([]byte, error) {
	if len(h.Kind) == 0 || len(h.Kind) > maxKind || len(h.Files) > maxFiles {
		return nil, nn.Invalid("pool", "kind of %d bytes, %d descriptors", len(h.Kind), len(h.Files))
	}
	le, d := binary.LittleEndian, &h.Buffer
	b := make([]byte, 0, handleFixed+len(h.Kind))
	b = append(b, handleMagic...)
	b = le.AppendUint16(b, handleVersion)
	b = append(b, uint8(len(h.Files)), uint8(len(h.Kind)))
	b = le.AppendUint64(b, uint64(h.Size))
	b = le.AppendUint64(b, uint64(h.Offset))
	b = le.AppendUint32(b, uint32(h.Prot))
	b = le.AppendUint32(b, d.Width)
	b = le.AppendUint32(b, d.Height)
	b = le.AppendUint32(b, d.Layers)
	b = le.AppendUint64(b, d.Usage)
	b = le.AppendUint32(b, uint32(d.Format))
	b = le.AppendUint32(b, d.Stride)
	b = le.AppendUint64(b, uint64(d.Allocation))
	b = le.AppendUint32(b, d.MemoryType)
	b = le.AppendUint32(b, uint32(d.Source))
	b = append(b, d.DeviceUUID[:]...)
	b = append(b, d.DriverUUID[:]...)
	return append(b, h.Kind...), nil
}

// UnmarshalBinary decodes what MarshalBinary made; anything else is GENERAL_FAILURE, as for every handle that cannot be
// decoded. Kinds that nobody knows are decoded: they fail when they are opened. Files has as many entries as the sender
// had descriptors, all nil, for the receiver to fill in.
func (h *Handle) UnmarshalBinary(b []byte) error {
	bad := func(format string, args ...any) error {
		return nn.Errorf(nn.StatusGeneralFailure, "pool", "not a handle: "+format, args...)
	}
	if len(b) < handleFixed {
		return bad("%d bytes", len(b))
	}
	le := binary.LittleEndian
	if string(b[:4]) != handleMagic {
		return bad("it begins with %q", b[:4])
	}
	if v := le.Uint16(b[4:]); v != handleVersion {
		return bad("version %d", v)
	}
	files, kind := int(b[6]), int(b[7])
	if files > maxFiles || kind == 0 || kind > maxKind || len(b) != handleFixed+kind {
		return bad("%d bytes with %d of a kind, %d descriptors", len(b), kind, files)
	}
	source := le.Uint32(b[68:])
	if source > 255 {
		return bad("source %d", source)
	}
	*h = Handle{
		Kind:   Kind(b[handleFixed:]),
		Size:   int64(le.Uint64(b[8:])),
		Offset: int64(le.Uint64(b[16:])),
		Prot:   Prot(le.Uint32(b[24:])),
		Buffer: Descriptor{
			Width:      le.Uint32(b[28:]),
			Height:     le.Uint32(b[32:]),
			Layers:     le.Uint32(b[36:]),
			Usage:      le.Uint64(b[40:]),
			Format:     Format(le.Uint32(b[48:])),
			Stride:     le.Uint32(b[52:]),
			Allocation: int64(le.Uint64(b[56:])),
			MemoryType: le.Uint32(b[64:]),
			Source:     Source(source),
			DeviceUUID: [16]byte(b[72:88]),
			DriverUUID: [16]byte(b[88:104]),
		},
	}
	if files > 0 {
		h.Files = make([]*os.File, files)
	}
	return nil
}
