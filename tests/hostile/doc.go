// Package hostile tests that no model brings the driver down: extreme shapes, parameters and sizes are refused
// or computed, in bounded time and memory.
package hostile
