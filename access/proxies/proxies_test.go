package proxies

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// Only what a listed proxy appended is believed.
func TestTheClientIsThePeerUnlessAProxyIsTrusted(t *testing.T) {
	list, err := Parse([]string{"10.0.0.0/8", "2001:db8::1"})
	require.NoError(t, err)
	for _, c := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"203.0.113.9:1", []string{"198.51.100.1"}, "203.0.113.9"},
		{"10.1.2.3:1", []string{"198.51.100.1"}, "198.51.100.1"},
		{"[::ffff:10.1.2.3]:1", []string{"198.51.100.1:80"}, "198.51.100.1"},
		{"10.1.2.3:1", []string{"6.6.6.6", "198.51.100.1"}, "198.51.100.1"},
		{"10.1.2.3:1", []string{"6.6.6.6, 198.51.100.1, 10.9.9.9"}, "198.51.100.1"},
		{"10.1.2.3:1", []string{"198.51.100.1, unknown"}, "10.1.2.3"},
		{"[2001:db8::1]:1", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"10.1.2.3:1", nil, "10.1.2.3"},
		{"pipe", nil, "invalid IP"},
	} {
		require.Equal(t, c.want, list.ClientOf(c.peer, c.forwarded).String(), "%+v", c)
		var peer net.Addr = &net.UnixAddr{Name: c.peer}
		if address, err := netip.ParseAddrPort(c.peer); err == nil {
			peer = net.TCPAddrFromAddrPort(address)
		}
		require.Equal(t, c.want, list.ClientOfConn(peer, c.forwarded).String(), "%+v", c)
	}
	require.Equal(t, "10.1.2.3", List(nil).ClientOf("10.1.2.3:1", []string{"6.6.6.6"}).String())
	_, err = Parse([]string{"proxy.local"})
	require.ErrorContains(t, err, "proxy.local")
}
