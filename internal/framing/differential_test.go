package framing_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/httpraw"
)

// underTest is a server whose handlers note what they read.
type underTest struct {
	httpraw.Log
	addr string
}

func listenLocal(t testing.TB, wrap func(net.Listener) net.Listener) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return wrap(l)
}

// viaNetHTTP is a server as those of rpc, stream, admin, metrics and ClickHouse's port.
func viaNetHTTP(t testing.TB, wrap func(net.Listener) net.Listener) *underTest {
	u := &underTest{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		u.Add(r.RemoteAddr, httpraw.Request{Method: r.Method, Target: r.RequestURI, Body: body})
	}))
	server.Config.DisableGeneralOptionsHandler = true // the handler gets OPTIONS * as well
	_ = server.Listener.Close()
	server.Listener = listenLocal(t, wrap)
	server.Start()
	t.Cleanup(server.Close)
	u.addr = server.Listener.Addr().String()
	return u
}

// viaFiber is a server as those of api and swap.
func viaFiber(t testing.TB, wrap func(net.Listener) net.Listener) *underTest {
	u := &underTest{}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	// Before fiber's own handler, which answers some methods by itself.
	app.Server().Handler = func(c *fasthttp.RequestCtx) {
		u.Add(c.RemoteAddr().String(), httpraw.Request{Method: string(c.Method()), Target: string(c.Request.Header.RequestURI()), Body: slices.Clone(c.Request.Body())})
	}
	l := listenLocal(t, wrap)
	go func() { _ = app.Listener(l) }()
	t.Cleanup(func() { _ = app.Shutdown() })
	u.addr = l.Addr().String()
	return u
}

func bare(l net.Listener) net.Listener { return l }

// registered are the methods that llhttp knows and these messages have.
var registered = []string{"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"}

// reads reports whether got are the first requests that another server reads. That server may
// refuse one for its method or its target, on which the end of a request does not depend: llhttp
// knows only registered methods and strict targets, and net/http wants targets that can be decoded.
func reads(theirs, got []httpraw.Request) bool {
	if n := len(theirs); n < len(got) {
		beyond := func(b rune) bool { return b > 0x7e }
		next := got[n]
		_, err := url.ParseRequestURI(next.Target)
		if err != nil || !slices.Contains(registered, next.Method) || strings.ContainsFunc(next.Target, beyond) || !strings.HasPrefix(next.Target, "/") {
			got = got[:n]
		}
	}
	return httpraw.Prefix(got, theirs)
}

// TestNoTwoReadersDisagree: what our servers accept, net/http and llhttp read as the same requests,
// each on its own and without the scanner. MINTLAKE_TEST_ROUNDS=full has many more messages.
func TestNoTwoReadersDisagree(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed: there is no llhttp to compare with")
	}
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	messages := make([][]byte, testkit.Rounds(4000, 400_000))
	valid := make([]int, len(messages))
	for i := range messages {
		messages[i], valid[i] = httpraw.Message(random)
	}
	llhttp, err := httpraw.ByLLHTTP(t.Context(), messages)
	require.NoError(t, err)
	reference := viaNetHTTP(t, bare)
	ours := map[string]*underTest{"fiber": viaFiber(t, framing.Listener), "net/http": viaNetHTTP(t, framing.Listener)}
	accepted := 0
	for i, message := range messages {
		strict, err := reference.Understood(t.Context(), reference.addr, message)
		require.NoError(t, err)
		for name, server := range ours {
			got, err := server.Understood(t.Context(), server.addr, message)
			require.NoError(t, err)
			accepted += len(got)
			say := fmt.Sprintf("%s reads %q\nas %q", name, message, got)
			require.True(t, reads(strict, got), "%s,\nnet/http as %q", say, strict)
			require.True(t, reads(llhttp[i], got), "%s,\nllhttp as %q", say, llhttp[i])
			if valid[i] > 0 {
				require.Len(t, got, valid[i], "%s, but it is valid", say)
			}
		}
	}
	require.Greater(t, accepted, len(messages), "most messages are refused: this tests little")
}
