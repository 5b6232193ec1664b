package driver_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nngpu/nngpu/driver"
	"github.com/nngpu/nngpu/driver/nn"
	"github.com/nngpu/nngpu/tests/logtest"
)

// damagedEntry makes a device with those options meet a damaged entry of its cache.
func damagedEntry(t *testing.T, opts ...driver.DeviceOption) {
	t.Helper()
	var warned atomic.Int32
	o := cacheOptions(t, &warned)
	prepareCached(t, &storing{}, o, binaryModel(nn.OpAdd, 3))
	damageEntries(t, o.Dir, "model", func(b []byte) []byte { b[0] ^= 1; return b })
	d := driver.NewDevice(&storing{}, append(opts, driver.WithCache(o.CacheOptions))...)
	defer d.Close()
	c, err := d.NewClient("test")
	require.NoError(t, err)
	pm, err := c.PrepareModel(t.Context(), binaryModel(nn.OpAdd, 3))
	require.NoError(t, err)
	require.Equal(t, driver.CacheRejected, pm.Cached())
}

// TestLogger: warnings go to the logger that was given, else to the program's, with the device's name and the error.
func TestLogger(t *testing.T) {
	var program, own bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&program, nil)))
	defer slog.SetDefault(before)

	damagedEntry(t, driver.WithLogger(slog.New(slog.DiscardHandler)))
	require.Zero(t, program.Len())
	damagedEntry(t, driver.WithLogger(slog.New(slog.NewJSONHandler(&own, nil))))
	require.Zero(t, program.Len())
	damagedEntry(t)
	for _, text := range []*bytes.Buffer{&program, &own} {
		var message struct{ Level, Msg, Device, Error string }
		require.NoError(t, json.Unmarshal(text.Bytes(), &message), "one message: %s", text)
		require.Equal(t, "WARN", message.Level)
		require.Contains(t, message.Msg, "refused by the cache")
		require.Equal(t, "storing", message.Device)
		require.Contains(t, message.Error, "not what was saved")
	}
}

// logging is a backend that has something to say.
type logging struct {
	storing
	log *slog.Logger
}

func (b *logging) LogTo(l *slog.Logger) { b.log = l }

// TestLoggerOfBackend: a backend writes to the device's.
func TestLoggerOfBackend(t *testing.T) {
	var list []logtest.Warning
	b := &logging{}
	d := driver.NewDevice(b, driver.WithLogger(logtest.New(func(w logtest.Warning) { list = append(list, w) })))
	b.log.Warn("something broke")
	require.Equal(t, []logtest.Warning{{Message: "something broke"}}, list)
	require.NoError(t, d.Close())
}
