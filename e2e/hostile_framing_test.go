package e2e

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/httpraw"
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
	"a vertical tab":       "Content-Length: %L\r\nTransfer-Encoding: \x0bchunked\r\n",
	"NUL in a name":        "Content-Length: %L\r\nTransfer-Enc\x00oding: chunked\r\n",
	"bare LF":              "Content-Length: %L\nTransfer-Encoding: chunked\r\n",
	"a hidden length":      "X-A: b\nContent-Length: 5\r\n",
	"bare CR":              "X-A: b\rContent-Length: 5\r\n",
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

// TestHostileFramingGenerated: no port answers more requests of a generated message than net/http
// reads behind the scanner, which the tests of internal/framing compare with llhttp.
func TestHostileFramingGenerated(t *testing.T) {
	up := underAttack(t, 3000)
	var read httpraw.Log
	reference := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		// A server may answer before it sees that the body is bad.
		_, _ = io.Copy(io.Discard, r.Body)
		read.Add(r.RemoteAddr, httpraw.Request{Method: r.Method, Target: r.RequestURI})
	}))
	reference.Listener = framing.Listener(reference.Listener)
	reference.Config.DisableGeneralOptionsHandler = true
	reference.Start()
	defer reference.Close()
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	for range most(3000, 150) {
		message, _ := httpraw.Message(random)
		want, err := read.Understood(t.Context(), reference.Listener.Addr().String(), message)
		require.NoError(t, err)
		for _, surface := range httpPorts {
			answer, _, err := httpraw.Send(t.Context(), up.hostPort(surface), message)
			require.NoError(t, err, surface)
			require.LessOrEqual(t, wholeIn(answer, want), len(want), "%s answers %q with\n%s", surface, message, answer)
		}
	}
}

// wholeIn counts the responses to requests that a server took for whole ones. The messages have no
// host that a port answers to, so these are mostly 403.
func wholeIn(answer []byte, want []httpraw.Request) (count int) {
	reader := bufio.NewReader(bytes.NewReader(answer))
	for {
		request := &http.Request{Method: http.MethodGet}
		if count < len(want) {
			request.Method = want[count].Method // an answer to HEAD has no body
		}
		response, err := http.ReadResponse(reader, request)
		if err != nil {
			return count
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		switch response.StatusCode {
		case http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestHeaderFieldsTooLarge, http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		default:
			count++
		}
	}
}
