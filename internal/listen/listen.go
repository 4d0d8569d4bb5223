// Package listen opens TCP listeners.
//
// In: host:port, where port 0 takes a free one. Out: a listener, or an error in one line that says
// what to do.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// TCP listens on addr. flag is the setting that chose addr, e.g. "--rpc-addr": errors name it.
func TCP(ctx context.Context, addr, flag string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("listen on %s: the address is taken; stop the program that uses it or choose another one with %s", addr, flag)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("listen on %s: not permitted; choose a port above 1023 with %s", addr, flag)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w; choose another address with %s", addr, err, flag)
	}
	return l, nil
}
