// Package listen opens TCP listeners.
//
// In: host:port, where port 0 means any free port. Out: a listener, or an error of one line that
// says what to do.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// TCP listens on addr. flag is the setting that chose addr, e.g. "--rpc-addr"; errors name it.
func TCP(ctx context.Context, addr, flag string) (net.Listener, error) {
	// A client that is gone is known within half a minute.
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 20 * time.Second, Interval: 5 * time.Second, Count: 2}}
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

// Dialable returns an address by which this machine reaches a listener. For a listener on all
// interfaces it is a loopback address.
func Dialable(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip := net.ParseIP(host)
	switch {
	case host != "" && (ip == nil || !ip.IsUnspecified()):
		return addr
	case ip != nil && ip.To4() == nil:
		return net.JoinHostPort(net.IPv6loopback.String(), port)
	}
	return net.JoinHostPort("127.0.0.1", port)
}
