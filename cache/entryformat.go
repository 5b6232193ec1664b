package cache

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The model file of a Store's entry, little-endian:
//
//	offset size
//	 0      8   entryMagic
//	 8      4   entryVersion
//	12      4   bytes from 48 to the hashes
//	16     32   HMAC-SHA-256 of all other bytes
//	48     32   key of the entry
//	80      8   when it was made, Unix time, ns
//	88      8   bytes of model
//	96      8   bytes of data
//	104     4   bytes per chunk of data, a power of two
//	108     4   0
//	112         device, build, label: each its length as u32, then its bytes
//	            hashes: SHA-256 of each chunk of data
//	            model
//
// The data file is the data and nothing else.
const (
	entryMagic   = "NNGPUent"
	entryVersion = 1
	entryMAC     = 16
	entryHead    = entryMAC + macSize
	entryStrings = 112

	// maxHead bounds the part before the hashes.
	maxHead = entryStrings + 3*4 + 2*maxIdentityBytes + maxLabelBytes
	// maxLabelBytes bounds a label; longer ones are cut.
	maxLabelBytes = 256
)

// entryInfo is all of a model file but the hashes and the model.
type entryInfo struct {
	key      Key
	made     int64 // Unix time, ns
	model    int64 // bytes
	data     int64 // bytes
	chunk    int64 // bytes
	identity Identity
	label    string
	hashesAt int // where the hashes start
}

// chunks is the number of hashes.
func (e *entryInfo) chunks() int64 { return chunksIn(e.data, e.chunk) }

// fileSize is what the model file must have, bytes.
func (e *entryInfo) fileSize() int64 {
	return int64(e.hashesAt) + e.chunks()*sha256.Size + e.model
}

// encodeEntry gives the whole content of a model file.
func (s *secret) encodeEntry(e entryInfo, model, data []byte) []byte {
	e.data = int64(len(data))
	return s.encodeHashed(e, model, hashChunks(data, e.chunk))
}

// encodeHashed is encodeEntry for e.data bytes of data with these hashes.
func (s *secret) encodeHashed(e entryInfo, model []byte, hashes [][sha256.Size]byte) []byte {
	le := binary.LittleEndian
	e.model = int64(len(model))
	b := make([]byte, entryHead, maxHead+e.chunks()*sha256.Size+e.model)
	copy(b, entryMagic)
	le.PutUint32(b[8:], entryVersion)
	b = append(b, e.key[:]...)
	b = le.AppendUint64(b, uint64(e.made))
	b = le.AppendUint64(b, uint64(e.model))
	b = le.AppendUint64(b, uint64(e.data))
	b = le.AppendUint32(b, uint32(e.chunk))
	b = le.AppendUint32(b, 0)
	for _, text := range []string{e.identity.Device, e.identity.Build, e.label} {
		b = le.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	le.PutUint32(b[12:], uint32(len(b)-entryHead))
	b = append(appendHashes(b, hashes), model...)
	s.sumEntry(b[entryMAC:entryMAC], b)
	return b
}

// sumEntry appends the keyed hash of a model file to out.
func (s *secret) sumEntry(out, b []byte) []byte {
	h := s.mac("nngpu store entry 1")
	h.Write(b[:entryMAC])
	h.Write(b[entryHead:])
	return h.Sum(out)
}

// verifyEntry says whether b is a model file that this key's owner wrote.
func (s *secret) verifyEntry(b []byte) error {
	if len(b) < entryStrings {
		return fmt.Errorf("model file of %d bytes: %w", len(b), ErrRejected)
	}
	if !hmac.Equal(s.sumEntry(nil, b), b[entryMAC:entryHead]) {
		return fmt.Errorf("model file is not what was saved: %w", ErrRejected)
	}
	return nil
}

// decodeHead reads what comes before the hashes from the first bytes of a model file. It takes any bytes
// and allocates no more than b is long.
func decodeHead(b []byte) (e entryInfo, err error) {
	bad := func(what string) (entryInfo, error) {
		return entryInfo{}, fmt.Errorf("model file: %s: %w", what, ErrRejected)
	}
	le := binary.LittleEndian
	if len(b) < entryStrings || string(b[:8]) != entryMagic || le.Uint32(b[8:]) != entryVersion {
		return bad("not of this version")
	}
	e.key = Key(b[entryHead:])
	e.made = int64(le.Uint64(b[80:]))
	e.model, e.data = int64(le.Uint64(b[88:])), int64(le.Uint64(b[96:]))
	e.chunk = int64(le.Uint32(b[104:]))
	if e.model < 0 || e.model > math.MaxInt64/4 || !validChunk(e.chunk, e.data) || le.Uint32(b[108:]) != 0 {
		return bad("lengths")
	}
	at := entryStrings
	for _, text := range []struct {
		to  *string
		max uint32
	}{{&e.identity.Device, maxIdentityBytes}, {&e.identity.Build, maxIdentityBytes}, {&e.label, maxLabelBytes}} {
		if len(b)-at < 4 {
			return bad("cut off")
		}
		n := le.Uint32(b[at:])
		at += 4
		if n > text.max || int(n) > len(b)-at {
			return bad("length of a name")
		}
		*text.to = string(b[at : at+int(n)])
		at += int(n)
	}
	if uint64(le.Uint32(b[12:])) != uint64(at-entryHead) {
		return bad("length of the head")
	}
	e.hashesAt = at
	return e, nil
}

// decodeEntry reads a whole model file. The model is part of b.
func decodeEntry(b []byte) (e entryInfo, hashes [][sha256.Size]byte, model []byte, err error) {
	e, err = decodeHead(b)
	if err != nil {
		return e, nil, nil, err
	}
	if e.fileSize() != int64(len(b)) {
		return e, nil, nil, fmt.Errorf("model file of %d bytes, expected %d: %w", len(b), e.fileSize(), ErrRejected)
	}
	hashes, model = cutHashes(b[e.hashesAt:], e.chunks())
	return e, hashes, model, nil
}

// cleanLabel makes a label fit to be stored and printed.
func cleanLabel(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	for len(s) > maxLabelBytes {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

func timeOf(ns int64) time.Time { return time.Unix(0, ns) }
