package e2e

import (
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// smuggled is a second request inside the first one's body, for servers that see the end elsewhere
// than a proxy before them.
const smuggled = "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

// framings are heads after which two servers may see the end of the body at different places.
var framings = map[string]string{
	"length and chunked":   "Content-Length: %L\r\nTransfer-Encoding: chunked\r\n",
	"chunked and length":   "Transfer-Encoding: chunked\r\nContent-Length: %L\r\n",
	"two lengths":          "Content-Length: 0\r\nContent-Length: %L\r\n",
	"an unknown coding":    "Content-Length: %L\r\nTransfer-Encoding: xchunked\r\n",
	"two codings":          "Content-Length: %L\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
	"a folded header":      "Content-Length: %L\r\nX-A: b\r\n Transfer-Encoding: chunked\r\n",
	"a space before colon": "Content-Length: %L\r\nTransfer-Encoding : chunked\r\n",
	"a signed length":      "Content-Length: +0\r\n",
	"a hex length":         "Content-Length: 0x0\r\n",
}

// TestHostileFraming: of a request whose length is ambiguous no port answers a second request that
// lies in its body.
func TestHostileFraming(t *testing.T) {
	up := underAttack(t, 3000)
	for _, surface := range httpPorts {
		for name, head := range framings {
			t.Run(surface+" "+name, func(t *testing.T) {
				t.Parallel() // some servers wait for more before they hang up
				conn := up.attack(t, surface, 30*time.Second)
				body := "0\r\n\r\n" + smuggled
				head := strings.ReplaceAll(head, "%L", strconv.Itoa(len(body)))
				_, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"+head+"\r\n"+body)
				require.NoError(t, err)
				answer, _ := io.ReadAll(conn)
				require.LessOrEqual(t, strings.Count(string(answer), "HTTP/1.1 "), 1, "a second request was answered:\n%s", answer)
			})
		}
	}
}
