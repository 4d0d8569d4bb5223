package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// hostileClient asks from the attackers' address.
var hostileClient = &http.Client{
	Timeout:   time.Minute,
	Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: attackers}).DialContext, MaxIdleConnsPerHost: 32},
}

// jsonBombs are bodies that are small on the wire and large, deep or endless to who reads them
// without bounds.
func jsonBombs() map[string]string {
	const size = 100 << 10 // below the body limits, so that the parsers see them
	return map[string]string{
		"deep lists":      strings.Repeat("[", size),
		"deep objects":    strings.Repeat(`{"a":`, size/5),
		"deep and closed": strings.Repeat("[", size/2) + strings.Repeat("]", size/2),
		"many calls":      "[" + strings.Repeat("{},", size/3) + "{}]",
		"many mints":      `{"mints":[` + strings.Repeat(`"a",`, size/4) + `"a"]}`,
		"many keys":       `{` + strings.Repeat(`"a":1,`, size/6) + `"a":1}`,
		"a long number":   `{"jsonrpc":"2.0","id":` + strings.Repeat("9", size) + `,"method":"getSlot"}`,
		"a long exponent": `{"jsonrpc":"2.0","id":1e` + strings.Repeat("9", 1000) + `,"method":"getSlot"}`,
		"a long method":   `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", size) + `"}`,
		"escapes":         `{"mints":["` + strings.Repeat(`\u0000`, size/6) + `"]}`,
		"no UTF-8":        `{"mints":["` + strings.Repeat("\xff", size) + `"]}`,
		"only spaces":     strings.Repeat(" ", size),
		"too large":       strings.Repeat("[", 64<<20),
	}
}

// TestHostileBodies sends bombs of JSON to every port that reads bodies, many at once. Each gets a
// clear answer.
func TestHostileBodies(t *testing.T) {
	up := underAttack(t, 3000)
	targets := map[string]bombTarget{
		"batch": {url: up.addresses["api"] + "/tokens/batch", reads: 128 << 10}, "rpc": {url: up.addresses["rpc"] + "/", reads: 128 << 10, forwards: true},
		"swap":  {url: up.addresses["swap"] + "/api/v2/swap", reads: 1 << 10},
		"admin": {url: up.addresses["admin"] + "/v1/keys", reads: 64 << 10, token: adminToken}, "dashboard": {url: up.addresses["admin"] + "/session", reads: 64 << 10},
		"rpc_ws": {url: "http://" + up.hostPort("rpc_ws") + "/", reads: 1 << 10},
	}
	for name, target := range targets {
		for kind, body := range jsonBombs() {
			t.Run(name+" "+kind, func(t *testing.T) {
				var all sync.WaitGroup
				for range most(50, 5) {
					all.Go(func() { sendBomb(t, target, body) })
				}
				all.Wait()
			})
		}
	}
}

// bombTarget is where bodies are sent, and how many bytes of one the server surely reads before it
// may hang up.
type bombTarget struct {
	url   string
	reads int
	token string // sent if there is one
	// forwards says that a body may be passed on to an upstream, which may be late.
	forwards bool
}

// sendBomb posts a body. The answer is an error in JSON, or the end of the connection where the
// body is larger than a server reads.
func sendBomb(t *testing.T, target bombTarget, body string) {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target.url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	if target.token != "" {
		request.Header.Set("Authorization", "Bearer "+target.token)
	}
	response, err := hostileClient.Do(request)
	if err != nil {
		if len(body) < target.reads {
			t.Errorf("no answer: %v", err)
		}
		return
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil && len(body) < target.reads {
		t.Errorf("half an answer: %v", err)
	}
	if len(answer) == 1<<20 {
		t.Errorf("the answer to %d bytes is larger than 1 MiB: %.200s", len(body), answer)
	}
	busy := response.StatusCode == http.StatusServiceUnavailable ||
		target.forwards && slices.Contains([]int{http.StatusBadGateway, http.StatusGatewayTimeout}, response.StatusCode)
	if response.StatusCode >= 500 && !busy {
		t.Errorf("%s: %.300s", response.Status, answer)
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%s, not JSON: %.300s", response.Status, answer)
	}
}

// readByAll is a size of requests that every server reads whole: the quote API's, which reads the
// least.
const readByAll = 8 << 10

func getHostile(url string) (status int, answer []byte, err error) {
	response, err := hostileClient.Get(url)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// TestHostileQueries sends URLs and headers that are large or odd.
func TestHostileQueries(t *testing.T) {
	up := underAttack(t, 3000)
	odd := []string{"%00", "%ff%fe", strings.Repeat("%e2%80%8b", 50), strings.Repeat("a", 8000), "'; DROP TABLE tokens; --", "%F0%9F%92%A9", strings.Repeat("%CC%81", 300)}
	for _, value := range odd {
		for _, target := range []string{
			up.addresses["api"] + "/tokens?q=" + value, up.addresses["api"] + "/tokens/" + value, up.addresses["api"] + "/img/" + value,
			up.addresses["api"] + "/tokens?limit=" + value, up.addresses["api"] + "/tokens?cursor=" + value,
			up.addresses["swap"] + "/api/v2/quote?src_mint=" + value + "&dst_mint=" + value + "&amount_in=" + value + "&slippage_bps=" + value,
			up.addresses["stream"] + "/?apiKey=" + value,
		} {
			target = strings.ReplaceAll(target, " ", "%20")
			status, answer, err := getHostile(target)
			if err != nil && len(target) > readByAll {
				continue // the server hung up with a part unread, so its answer may be lost
			}
			require.NoError(t, err, "%.200s", target)
			require.NotEqual(t, http.StatusInternalServerError, status, "%.200s: %.300s", target, answer)
		}
	}
	for _, surface := range httpPorts {
		for name, head := range map[string]string{
			"a large header": "X-Large: " + strings.Repeat("a", 4<<20) + "\r\n",
			"many headers":   strings.Repeat("X-A: b\r\n", 500_000),
			"a large path":   "",
		} {
			conn := up.attack(t, surface, time.Minute)
			path := "/"
			if head == "" {
				path += strings.Repeat("a", 4<<20)
			}
			// the server may hang up before it has all
			_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\n"+head+"\r\n")
			answer, _ := io.ReadAll(conn)
			require.NotContains(t, firstLine(string(answer)), " 200 ", "%s reads %s of megabytes", surface, name)
		}
	}
}

// rawCodec sends bytes as they are, so that a client can send what no protobuf library would.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(b []byte, v any) error { *v.(*[]byte) = bytes.Clone(b); return nil }
func (rawCodec) Name() string                    { return "proto" }

var _ encoding.Codec = rawCodec{}

// protobufBombs are Subscribe requests that are large, deep, or lie about their lengths.
func protobufBombs() map[string][]byte {
	entry := protowire.AppendTag(nil, 1, protowire.BytesType)
	entry = protowire.AppendString(entry, "f")
	filters, deep := []byte{}, []byte{}
	for len(filters) < 900<<10 {
		filters = protowire.AppendTag(filters, 3, protowire.BytesType)
		filters = protowire.AppendBytes(filters, fmt.Appendf(nil, "\x0a\x08%08d\x12\x00", len(filters)%100_000_000))
	}
	for len(deep) < 100<<10 {
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), deep)
	}
	groups := bytes.Repeat(protowire.AppendTag(nil, 100, protowire.StartGroupType), 100_000)
	random := make([]byte, 64<<10)
	_, _ = rand.Read(random)
	return map[string][]byte{
		"an entry":         protowire.AppendBytes(protowire.AppendTag(nil, 3, protowire.BytesType), entry),
		"many filters":     filters,
		"deep":             deep,
		"deep groups":      groups,
		"a length of 2^63": protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.BytesType), math.MaxInt64),
		"random bytes":     random,
		"too large":        make([]byte, 8<<20),
		"no field 0":       {0x02, 0x00},
		"a wrong type":     protowire.AppendFixed32(protowire.AppendTag(nil, 3, protowire.Fixed32Type), 7),
	}
}

// TestHostileProtobuf sends bombs of protobuf to the stream's gRPC port, many at once.
func TestHostileProtobuf(t *testing.T) {
	up := underAttack(t, 3000)
	conn, err := grpc.NewClient(up.hostPort("stream"), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	require.NoError(t, err)
	defer conn.Close()
	for name, bomb := range protobufBombs() {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for range most(30, 5) {
				all.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/geyser.Geyser/Subscribe")
					if err == nil {
						if err = stream.SendMsg(&bomb); err == nil {
							var got []byte
							err = stream.RecvMsg(&got)
						}
					}
					if grpcstatus.Code(err) == codes.Internal && strings.Contains(err.Error(), "panic") {
						t.Errorf("%v", err)
					}
				})
			}
			all.Wait()
		})
	}
}

// TestHostileWebSocket sends bombs to each port that speaks WebSocket.
func TestHostileWebSocket(t *testing.T) {
	up := underAttack(t, 3000)
	for kind, body := range jsonBombs() {
		for _, surface := range webSockets {
			t.Run(surface+" "+kind, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				conn, _, err := websocket.Dial(ctx, "ws://"+up.hostPort(surface), &websocket.DialOptions{HTTPClient: &http.Client{Transport: hostileClient.Transport}})
				require.NoError(t, err)
				defer conn.CloseNow()
				if conn.Write(ctx, websocket.MessageText, []byte(body)) != nil {
					return // closed while it was sent
				}
				_, answer, err := conn.Read(ctx)
				require.NoError(t, ctx.Err(), "neither an answer nor the end")
				if err == nil {
					require.Contains(t, string(answer), "error", "%.300s", answer)
				}
			})
		}
	}
}

// TestHostileKafka sends bytes that are no requests to the embedded broker's port.
func TestHostileKafka(t *testing.T) {
	up := underAttack(t, 3000)
	for n := range most(2000, 200) {
		conn := up.attack(t, "kafka", time.Minute)
		length := [][]byte{{0x7f, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 0}, {0, 0, 0, 8}, {0, 1, 0, 0}}[n%5]
		random := make([]byte, 64)
		_, _ = rand.Read(random)
		_, _ = conn.Write(append(length, random...)) // the broker may hang up at once
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
	}
	up.awaitMore(up.status().Registry.Tokens) // the pipeline behind the broker goes on
}

// gzipBomb is a stream that expands to size bytes.
func gzipBomb(t testing.TB, size int) []byte {
	t.Helper()
	var member bytes.Buffer
	z, err := gzip.NewWriterLevel(&member, gzip.BestCompression)
	require.NoError(t, err)
	chunk := bytes.Repeat([]byte(" "), 64<<20)
	_, err = z.Write(chunk)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	// RFC 1952, section 2.2: a file may be many members, one behind the other.
	return bytes.Repeat(member.Bytes(), size/len(chunk))
}

// TestHostileEncodings sends bodies that expand to gigabytes.
func TestHostileEncodings(t *testing.T) {
	up := underAttack(t, 4000)
	bomb := gzipBomb(t, most(8, 2)<<30)
	for name, target := range map[string]string{
		"batch": up.addresses["api"] + "/tokens/batch", "rpc": up.addresses["rpc"] + "/", "swap": up.addresses["swap"] + "/api/v2/swap",
		"clickhouse": up.addresses["clickhouse"] + "/", "admin": up.addresses["admin"] + "/v1/keys",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, bytes.NewReader(bomb))
		require.NoError(t, err)
		request.Header.Set("Content-Encoding", "gzip")
		request.Header.Set("Content-Type", "application/json")
		if name == "admin" {
			request.Header.Set("Authorization", "Bearer "+adminToken)
		}
		response, err := hostileClient.Do(request)
		if err != nil {
			continue // the server hung up on a body that it does not want
		}
		answer, _ := io.ReadAll(response.Body)
		response.Body.Close()
		require.GreaterOrEqual(t, response.StatusCode, 400, "%s takes %s bytes: %.300s", name, strconv.Itoa(len(bomb)), answer)
	}
}
