package clickhouse_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/compress"
	chproto "github.com/ClickHouse/ch-go/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/certs"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

const (
	user   = "mintlake"
	secret = "hunter2"
)

// newProxy speaks TLS before the embedded engine, which has neither TLS nor users, and lets in who
// knows the password, as a ClickHouse server does: by header, with its code and its message of
// several lines.
func newProxy(t *testing.T, config *tls.Config) string {
	t.Helper()
	to, err := url.Parse("http://" + chtest.Engine(t).Addr())
	require.NoError(t, err)
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		for _, name := range []string{"X-Clickhouse-User", "X-Clickhouse-Key", "Authorization"} {
			r.Out.Header.Del(name)
		}
	}}
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		if name == "" {
			name, password = r.Header.Get("X-Clickhouse-User"), r.Header.Get("X-Clickhouse-Key")
		}
		if name != user || password != secret {
			w.Header().Set("X-ClickHouse-Exception-Code", "516")
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("Code: 516. DB::Exception: mintlake: Authentication failed: password is incorrect, or there is no user with such name.\n\n" +
				"If you use ClickHouse Cloud, the password can be reset.\n. (AUTHENTICATION_FAILED)"))
			return
		}
		forward.ServeHTTP(w, r)
	}))
	proxy.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	if config == nil {
		proxy.Start()
	} else {
		proxy.TLS = config
		proxy.StartTLS()
	}
	t.Cleanup(proxy.Close)
	return proxy.Listener.Addr().String()
}

// Nobody listens at these: no other test's server gets port 1.
const deadHost, otherDeadHost = "127.0.0.1:1", "127.0.0.2:1"

// selectOne opens, asks for a row, and closes.
func selectOne(t *testing.T, dsn string, cfg clickhouse.AccessConfig, logger *slog.Logger) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, err := clickhouse.Open(ctx, dsn, clickhouse.WithAccess(clickhouse.NewAccess(cfg, logger)))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	var one uint8
	require.NoError(t, conn.QueryRow(ctx, "SELECT 1").Scan(&one))
	require.Equal(t, uint8(1), one)
	return nil
}

type tlsCase struct {
	dsn  string
	cfg  clickhouse.AccessConfig
	want string
}

func requireOneLine(t *testing.T, cases map[string]tlsCase) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := selectOne(t, c.dsn, c.cfg, nil)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n", "one line")
			require.NotContains(t, err.Error(), secret)
			require.NotContains(t, err.Error(), "geheim")
			require.False(t, clickhouse.Retryable(err), "somebody must change a setting")
		})
	}
}

func serverTLS(pair tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

func TestHTTPS(t *testing.T) {
	ca, other := certs.New(t), certs.New(t)
	pair := ca.Issue("clickhouse.example", time.Now().Add(time.Hour))
	expired := ca.Issue("clickhouse.example", time.Now().Add(-time.Hour))
	client := ca.Issue("client", time.Now().Add(time.Hour))
	mutualTLS := serverTLS(pair.Pair)
	mutualTLS.ClientCAs, mutualTLS.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	mutualTLS.ClientCAs.AddCert(ca.Cert)
	plain, encrypted, old, mutual := newProxy(t, nil), newProxy(t, serverTLS(pair.Pair)), newProxy(t, serverTLS(expired.Pair)), newProxy(t, mutualTLS)

	login := user + ":" + secret + "@"
	trusting := clickhouse.AccessConfig{TLS: clickhouse.TLSConfig{CAFile: ca.File}}
	beside := trusting
	beside.Username, beside.Password = user, secret
	named, misnamed, known := trusting, trusting, trusting
	named.TLS.ServerName, misnamed.TLS.ServerName = "clickhouse.example", "other.example"
	known.TLS.CertFile, known.TLS.KeyFile = client.CertFile, client.KeyFile

	require.NoError(t, selectOne(t, "https://"+login+encrypted+"/default", trusting, nil))
	require.NoError(t, selectOne(t, "https://"+encrypted, beside, nil), "user and password beside the DSN")
	require.NoError(t, selectOne(t, "https://"+login+encrypted+"/?secure=true&dial_timeout=5s", named, nil))
	require.NoError(t, selectOne(t, "https://"+login+encrypted+"?tls_server_name=clickhouse.example", trusting, nil))
	require.NoError(t, selectOne(t, "https://"+login+mutual, known, nil))
	require.NoError(t, selectOne(t, "https://"+login+encrypted+"?skip_verify=true", clickhouse.AccessConfig{}, nil))

	wrong := beside
	wrong.Password = "geheim"
	requireOneLine(t, map[string]tlsCase{
		"an authority that is not known":     {"https://" + login + encrypted, clickhouse.AccessConfig{}, "clickhouse.tls.ca_file"},
		"another authority":                  {"https://" + login + encrypted, clickhouse.AccessConfig{TLS: clickhouse.TLSConfig{CAFile: other.File}}, "clickhouse.tls.ca_file"},
		"a certificate for another name":     {"https://" + login + encrypted, misnamed, "clickhouse.tls.server_name"},
		"a certificate that is too old":      {"https://" + login + old, trusting, "expired"},
		"no certificate where one is wanted": {"https://" + login + mutual, trusting, "clickhouse.tls.cert_file"},
		"wrong password":                     {"https://" + encrypted, wrong, "the login is refused"},
		"no password":                        {"https://" + encrypted, trusting, "clickhouse.password"},
		"plain text to a TLS port":           {"http://" + login + encrypted, clickhouse.AccessConfig{}, "this port seems to want TLS"},
		"TLS to a plain port":                {"https://" + login + plain, trusting, "this port seems to speak no TLS"},
		"native to the port of HTTP":         {"clickhouse://" + login + plain + "?dial_timeout=1s", clickhouse.AccessConfig{}, "this port seems to be that of HTTP"},
		"native to the port of HTTPS":        {"clickhouse://" + login + encrypted, clickhouse.AccessConfig{}, "this port seems to want TLS"},
		"TLS settings for plain text":        {"http://" + login + plain, trusting, "clickhouse.dsn speaks plain text"},
		"two passwords":                      {"https://" + login + encrypted, wrong, "clickhouse.password: clickhouse.dsn says another one"},
		"no such file":                       {"https://" + encrypted, clickhouse.AccessConfig{TLS: clickhouse.TLSConfig{CAFile: "/nowhere"}}, "clickhouse.tls.ca_file"},
	})
}

// TestFirstHostDead: the second host serves, and the log says so once, however many connections
// there are.
func TestFirstHostDead(t *testing.T) {
	ca := certs.New(t)
	pair := ca.Issue("clickhouse.example", time.Now().Add(time.Hour))
	dead, alive := deadHost, newProxy(t, serverTLS(pair.Pair))
	access := clickhouse.AccessConfig{Username: user, Password: secret, TLS: clickhouse.TLSConfig{CAFile: ca.File}}
	var log bytes.Buffer
	shared := clickhouse.NewAccess(access, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		conn, err := clickhouse.Open(t.Context(), "https://"+dead+","+alive+"/default", clickhouse.WithAccess(shared))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "clickhouse host is away")
	require.Contains(t, log.String(), dead)
	require.Contains(t, log.String(), "connection refused")
	require.NotContains(t, log.String(), secret)

	err := selectOne(t, "https://"+dead+","+otherDeadHost, access, nil)
	require.ErrorContains(t, err, dead)
	require.Equal(t, 2, strings.Count(err.Error(), "connection refused"), "each host is told")
	require.NotContains(t, err.Error(), "\n")
	require.True(t, clickhouse.Retryable(err))

	wrong := access
	wrong.Password = "geheim"
	err = selectOne(t, "https://"+dead+","+alive, wrong, nil)
	require.ErrorContains(t, err, "the login is refused")
	require.True(t, clickhouse.Retryable(err), "the host that is away may know better")
}

// TestAHostThatDiesIsLeft: a pool that was with one host goes on with the other.
func TestAHostThatDiesIsLeft(t *testing.T) {
	_, dsn := chtest.Start(t)
	to, err := url.Parse(dsn)
	require.NoError(t, err)
	first := httptest.NewServer(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: to.Host}))
	conn, err := clickhouse.Open(t.Context(), "http://"+first.Listener.Addr().String()+","+to.Host+to.Path, clickhouse.WithAccess(clickhouse.NewAccess(clickhouse.AccessConfig{}, nil)))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.Ping(t.Context()))
	first.CloseClientConnections()
	first.Close()
	require.Eventually(t, func() bool { return conn.Ping(t.Context()) == nil }, time.Minute, 10*time.Millisecond)
}

// TestNativeWithTLS speaks to a server of the native protocol that knows the handshake, Ping and
// SELECT 1, as far as a Go library has one. What a real server does behind its TLS port was not
// seen.
func TestNativeWithTLS(t *testing.T) {
	ca, other := certs.New(t), certs.New(t)
	pair := ca.Issue("clickhouse.example", time.Now().Add(time.Hour))
	encrypted := newNative(t, serverTLS(pair.Pair))
	plain := newNative(t, nil)
	trusting := clickhouse.AccessConfig{Username: user, Password: secret, TLS: clickhouse.TLSConfig{CAFile: ca.File}}
	require.NoError(t, selectOne(t, "clickhouse://"+encrypted+"/default?secure=true", trusting, nil))
	require.NoError(t, selectOne(t, "clickhouse://"+user+":"+secret+"@"+encrypted+"?secure=true&skip_verify=true", clickhouse.AccessConfig{}, nil))
	require.NoError(t, selectOne(t, "clickhouse://"+deadHost+","+encrypted+"/default?secure=true", trusting, nil))
	wrong := trusting
	wrong.Password = "geheim"
	bare := clickhouse.AccessConfig{Username: user, Password: secret}
	requireOneLine(t, map[string]tlsCase{
		"another authority":        {"clickhouse://" + encrypted + "?secure=true", clickhouse.AccessConfig{TLS: clickhouse.TLSConfig{CAFile: other.File}}, "clickhouse.tls.ca_file"},
		"wrong password":           {"clickhouse://" + encrypted + "?secure=true", wrong, "the login is refused"},
		"plain text to a TLS port": {"clickhouse://" + encrypted, bare, "this port seems to want TLS"},
	})
	err := selectOne(t, "clickhouse://"+plain+"?secure=true", trusting, nil)
	require.ErrorContains(t, err, "this port seems to speak no TLS")
	require.NotContains(t, err.Error(), "\n")
	require.True(t, clickhouse.Retryable(err), "a server that stops hangs up too")
}

// newNative serves the beginning of ClickHouse's native protocol.
func newNative(t *testing.T, config *tls.Config) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	addr := listener.Addr().String()
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_ = serveNative(conn)
			}()
		}
	}()
	return addr
}

func serveNative(conn net.Conn) error {
	const revision = 54460 // before chunked packets and what came behind
	reader, answer := chproto.NewReader(conn), &chproto.Buffer{}
	send := func() error {
		_, err := conn.Write(answer.Buf)
		answer.Reset()
		return err
	}
	for version := revision; ; {
		code, err := reader.UVarInt()
		if err != nil {
			return err
		}
		switch chproto.ClientCode(code) {
		case chproto.ClientCodeHello:
			var hello chproto.ClientHello
			if err := hello.Decode(reader); err != nil {
				return err
			}
			version = min(version, hello.ProtocolVersion)
			if hello.User != user || hello.Password != secret {
				chproto.ServerCodeException.Encode(answer)
				(&chproto.Exception{Code: 516, Name: "DB::Exception", Message: "Authentication failed\n\nreset it"}).EncodeAware(answer, version)
				return send()
			}
			(&chproto.ServerHello{Name: "ClickHouse", Revision: revision, Timezone: "UTC", DisplayName: "test"}).EncodeAware(answer, version)
			if err := send(); err != nil {
				return err
			}
			if chproto.FeatureAddendum.In(version) {
				if _, err := reader.Str(); err != nil { // quota key
					return err
				}
			}
		case chproto.ClientCodePing:
			chproto.ServerCodePong.Encode(answer)
			if err := send(); err != nil {
				return err
			}
		case chproto.ClientCodeQuery:
			if err := serveSelectOne(reader, answer, version); err != nil {
				return err
			}
			if err := send(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// serveSelectOne answers any query with one row of a UInt8.
func serveSelectOne(reader *chproto.Reader, answer *chproto.Buffer, version int) error {
	var query chproto.Query
	if err := query.DecodeAware(reader, version); err != nil {
		return err
	}
	if _, err := reader.UVarInt(); err != nil { // the packet of external data, an empty block
		return err
	}
	var data chproto.ClientData
	if err := data.DecodeAware(reader, version); err != nil {
		return err
	}
	if query.Compression == chproto.CompressionEnabled {
		reader.EnableCompression()
	}
	var block chproto.Block
	if err := block.DecodeBlock(reader, version, nil); err != nil {
		return err
	}
	reader.DisableCompression()
	column := chproto.ColUInt8{1}
	chproto.ServerCodeData.Encode(answer)
	answer.PutString("")
	row, encoded := chproto.Block{Info: chproto.BlockInfo{BucketNum: -1}, Columns: 1, Rows: 1}, &chproto.Buffer{}
	if err := row.EncodeBlock(encoded, version, []chproto.InputColumn{{Name: "1", Data: &column}}); err != nil {
		return err
	}
	if query.Compression == chproto.CompressionEnabled {
		packed := compress.NewWriter(compress.LevelZero, compress.LZ4)
		if err := packed.Compress(encoded.Buf); err != nil {
			return err
		}
		encoded.Buf = packed.Data
	}
	answer.PutRaw(encoded.Buf)
	chproto.ServerCodeEndOfStream.Encode(answer)
	return nil
}

func TestAccessOfDSN(t *testing.T) {
	access := clickhouse.NewAccess(clickhouse.AccessConfig{}, nil)
	for dsn, want := range map[string]string{
		"https://default:geheim@abc123.eu-central-1.aws.clickhouse.cloud:8443":                  "https://abc123.eu-central-1.aws.clickhouse.cloud:8443",
		"https://default:geheim@abc123.eu-central-1.aws.clickhouse.cloud":                       "https://abc123.eu-central-1.aws.clickhouse.cloud:8443",
		"clickhouse://default:geheim@abc123.eu-central-1.aws.clickhouse.cloud:9440?secure=true": "clickhouse://abc123.eu-central-1.aws.clickhouse.cloud:9440",
		"clickhouse://h?secure=true":               "clickhouse://h:9440",
		"clickhouse://a:geheim@h1:9000,h2:9000/db": "clickhouse://h1:9000,h2:9000",
		"http://h1,h2:1":                           "http://h1:8123,h2:1",
		"clickhouse://[::1]":                       "clickhouse://[::1]:9000",
	} {
		require.NoError(t, access.Check(dsn))
		require.Equal(t, want, clickhouse.Redacted(dsn))
	}
	require.Error(t, access.Check("https://h?secure=false"))
	require.NotContains(t, clickhouse.Redacted("ftp://a:geheim@h"), "geheim")
}
