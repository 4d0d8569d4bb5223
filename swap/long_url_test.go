package swap

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestALongURLAlwaysGetsItsStatus: the answer reaches a client that still sends, whatever the
// length. Requests are written in parts, as a slow network brings them.
func TestALongURLAlwaysGetsItsStatus(t *testing.T) {
	f := start(t, Config{}, nil)
	for n := range 100 {
		length := 8<<10 + n*(56<<10)/99
		conn, err := net.Dial("tcp", f.Addr())
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(hang)))
		head := fmt.Sprintf("GET /api/v2/quote?x=%s HTTP/1.1\r\nHost: %s\r\n\r\n", strings.Repeat("x", length), f.Addr())
		for part := range slices.Chunk([]byte(head), 1<<10) {
			_, err = conn.Write(part)
			require.NoError(t, err, "a URL of %d bytes", length)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, "a URL of %d bytes", length)
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, response.StatusCode)
		require.NoError(t, response.Body.Close())
		require.NoError(t, conn.Close())
	}
}
