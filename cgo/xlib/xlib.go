//go:build window

package xlib

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

static const char *message;
static int code;

// leave is called by Xlib in any thread, and must not return.
static int leave(void *display) {
    (void)display;
    if (write(STDERR_FILENO, message, strlen(message)) < 0) {
        // there is nobody to tell
    }
    _exit(code);
}

// nngpu_xlib_on_loss sets what is called when the connection to an X server is broken.
//
// Ownership: takes text, C memory.    Threads: no other call of Xlib.    Blocking: no.    Go memory: none.
static void nngpu_xlib_on_loss(const char *text, int with) {
    int (*(*set)(int (*)(void *)))(void *) = (int (*(*)(int (*)(void *)))(void *))dlsym(RTLD_DEFAULT, "XSetIOErrorHandler");
    message = text;
    code = with;
    if (set != NULL) {
        set(leave);
    }
}
*/
import "C"

// ExitOnLoss makes Xlib end the program when an X server that it is connected to goes away: with a message on standard
// error and an exit code, and at once, because the destructors that exit calls would meet threads of Vulkan drivers
// that still work. It is called once, before a display is opened.
func ExitOnLoss(message string, code int) {
	C.nngpu_xlib_on_loss(C.CString(message), C.int(code)) // kept as long as the program lasts
}
