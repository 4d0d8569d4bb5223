package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
)

// FreeAddr keeps a port of loopback for the test. A server that goes away must come back on the
// address it had, so port 0 does not do: while it is away, whoever asks the kernel for any port, be
// it for the near end of a connection, might be given that one. So it is one of those that the
// kernel gives to nobody unasked. An abstract socket of the same number, which ends with this
// process however that ends, keeps other tests away.
func FreeAddr(t testing.TB) string {
	t.Helper()
	const lowest = 10_000
	highest := unaskedPorts(lowest)
	for range 10_000 {
		port := lowest + rand.IntN(highest-lowest) //nolint:gosec // no secret
		reservation, err := net.Listen("unix", fmt.Sprintf("@mintlake-test-port-%d", port))
		if err != nil {
			continue
		}
		addr := fmt.Sprintf("127.0.0.1:%d", port)
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			_ = reservation.Close()
			continue
		}
		_ = listener.Close()
		t.Cleanup(func() { _ = reservation.Close() })
		return addr
	}
	t.Fatal("find a free port: none")
	return ""
}

// unaskedPorts is the lowest port that the kernel gives to those who ask for any; 32768 where that
// is unknown or leaves none above lowest.
func unaskedPorts(lowest int) int {
	var first int
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(text), &first)
	}
	if err != nil || first < lowest+1000 {
		return 32768
	}
	return first
}
