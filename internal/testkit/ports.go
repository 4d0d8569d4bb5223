package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"testing"
)

// FreeAddr reserves a port on loopback for the test. It is for servers that stop and start again on
// the same address, for which port 0 is not enough: while the server is away, the kernel might give
// the port to another connection. So FreeAddr takes a port below the range from which the kernel
// gives out ports. An abstract socket with the port's number keeps other tests away; it ends with
// this process, even if that is killed.
func FreeAddr(t testing.TB) string {
	t.Helper()
	const lowest = 10_000
	highest := lowestEphemeral(lowest)
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

// lowestEphemeral returns the lowest ephemeral port, which is one that the kernel gives out by
// itself. See ip_local_port_range in ip(7). It returns 32768, Linux's default, if that is unknown
// or leaves fewer than 1,000 ports above lowest.
func lowestEphemeral(lowest int) int {
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
