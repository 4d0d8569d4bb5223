package kafka_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/certs"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

func startSecure(t *testing.T, opts ...kfake.Opt) string {
	return startCluster(t, opts...).ListenAddrs()[0]
}

func startCluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	cluster, err := kfake.NewCluster(append(opts, kfake.NumBrokers(1))...)
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return cluster
}

// roundTrip makes a topic and writes a record with these settings.
func roundTrip(t *testing.T, addr string, encryption kafka.TLSConfig, login kafka.SASLConfig) error {
	t.Helper()
	security, err := kafka.NewSecurity(encryption, login)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var log bytes.Buffer
	with := deps(t)
	with.Security, with.Logger = security, slog.New(slog.NewTextHandler(&log, nil))
	defer func() {
		require.NotContains(t, log.String(), "EOF", "the reason is told, and not how the connection ended")
	}()
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{addr}}, with)
	require.NoError(t, err)
	defer admin.Close()
	if err := admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 1, Config: forever}}); err != nil {
		return err
	}
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{addr}}, with)
	require.NoError(t, err)
	defer producer.Close()
	return producer.Produce(ctx, kafka.Record{Topic: "t", Key: []byte("k"), Value: []byte("v")})
}

// tlsBrokers are the addresses of one test of TLS.
type tlsBrokers struct{ encrypted, expired, mutual, plain string }

func TestTLS(t *testing.T) {
	ca := certs.New(t)
	pair := ca.Issue("kafka.example", time.Now().Add(time.Hour)).Pair
	expired := ca.Issue("kafka.example", time.Now().Add(-time.Hour)).Pair
	clients := x509.NewCertPool()
	clients.AddCert(ca.Cert)
	testTLS(t, ca, tlsBrokers{
		encrypted: startSecure(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}})),
		expired:   startSecure(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{expired}})),
		mutual:    startSecure(t, kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert})),
		plain:     kafkatest.Start(t)[0],
	})
}

// closingListener is a listener that can hang up on everybody, as a broker that stops does.
type closingListener struct {
	net.Listener

	mu      sync.Mutex
	closing bool
	open    []net.Conn
}

func (l *closingListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		closing := l.closing
		l.open = append(l.open, conn)
		l.mu.Unlock()
		if !closing {
			return conn, nil
		}
		_ = conn.Close()
	}
}

func (l *closingListener) hangUp(closing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = closing
	for _, conn := range l.open {
		_ = conn.Close()
	}
	l.open = nil
}

// TestATLSBrokerThatHangsUpIsWaitedFor: a hang-up during the handshake is a wrong setting only
// before the first success. A client that begins meanwhile waits, too.
func TestATLSBrokerThatHangsUpIsWaitedFor(t *testing.T) {
	ca := certs.New(t)
	var listener closingListener
	addr := startSecure(t,
		kfake.TLS(&tls.Config{Certificates: []tls.Certificate{ca.Issue("kafka.example", time.Now().Add(time.Hour)).Pair}}),
		kfake.ListenFn(func(network, address string) (_ net.Listener, err error) {
			listener.Listener, err = net.Listen(network, address)
			return &listener, err
		}))
	security, err := kafka.NewSecurity(kafka.TLSConfig{Enabled: true, CAFile: ca.File}, kafka.SASLConfig{})
	require.NoError(t, err)
	with := deps(t)
	with.Security = security
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: []string{addr}}, with)
	require.NoError(t, err)
	defer admin.Close()
	ctx := testContext(t)
	require.NoError(t, admin.EnsureTopics(ctx, []kafka.TopicSpec{{Name: "t", Partitions: 1, ReplicationFactor: 1, Config: forever}}))
	var producers []*kafka.Producer
	for range 2 {
		producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: []string{addr}}, with)
		require.NoError(t, err)
		defer producer.Close()
		producers = append(producers, producer)
	}
	require.NoError(t, producers[0].Produce(ctx, numbered("t", "k", 0)))

	listener.hangUp(true)
	time.AfterFunc(time.Second, func() { listener.hangUp(false) })
	for n, producer := range producers {
		require.NoError(t, producer.Produce(ctx, numbered("t", "k", n+1)))
	}
}

// testTLS writes a record over each port as it should be, and looks at what is said of each wrong
// setting.
func testTLS(t *testing.T, ca *certs.Authority, at tlsBrokers) {
	t.Helper()
	other := certs.New(t)
	client := ca.Issue("client", time.Now().Add(time.Hour))
	old := ca.Issue("client", time.Now().Add(-time.Hour))
	trusting := kafka.TLSConfig{Enabled: true, CAFile: ca.File}
	require.NoError(t, roundTrip(t, at.encrypted, trusting, kafka.SASLConfig{}))
	named := trusting
	named.ServerName = "kafka.example"
	require.NoError(t, roundTrip(t, at.encrypted, named, kafka.SASLConfig{}))
	known := trusting
	known.CertFile, known.KeyFile = client.CertFile, client.KeyFile
	require.NoError(t, roundTrip(t, at.mutual, known, kafka.SASLConfig{}))

	misnamed, outdated := trusting, trusting
	misnamed.ServerName = "other.example"
	outdated.CertFile, outdated.KeyFile = old.CertFile, old.KeyFile
	for name, c := range map[string]struct {
		addr string
		tls  kafka.TLSConfig
		want string
	}{
		"plain text to a TLS port":           {at.encrypted, kafka.TLSConfig{}, "this port seems to want TLS: set kafka.tls.enabled"},
		"plain text to mutual TLS":           {at.mutual, kafka.TLSConfig{}, "this port seems to want TLS: set kafka.tls.enabled"},
		"TLS to a plain port":                {at.plain, trusting, "seems to speak no TLS"},
		"an authority that is not known":     {at.encrypted, kafka.TLSConfig{Enabled: true}, "kafka.tls.ca_file"},
		"another authority":                  {at.encrypted, kafka.TLSConfig{Enabled: true, CAFile: other.File}, "kafka.tls.ca_file"},
		"a certificate for another name":     {at.encrypted, misnamed, "kafka.tls.server_name"},
		"a certificate that is too old":      {at.expired, trusting, "expired"},
		"no certificate where one is wanted": {at.mutual, trusting, "kafka.tls.cert_file"},
		"a client's that is too old":         {at.mutual, outdated, "kafka.tls.cert_file"},
	} {
		t.Run(name, func(t *testing.T) { requireOneLine(t, roundTrip(t, c.addr, c.tls, kafka.SASLConfig{}), c.want, c.addr) })
	}
}

// requireOneLine holds an error to what an operator needs: what is wrong and where, on one line and
// at once.
func requireOneLine(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, text := range want {
		require.ErrorContains(t, err, text)
	}
	require.NotContains(t, err.Error(), "\n", "one line")
	require.NotErrorIs(t, err, context.DeadlineExceeded, "found at once, not tried until the end")
}

func TestSASL(t *testing.T) {
	const secret = "hunter2"
	for mechanism, name := range map[string]string{"plain": "PLAIN", "scram-sha-256": "SCRAM-SHA-256", "scram-sha-512": "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			addr := startSecure(t, kfake.EnableSASL(), kfake.Superuser(name, "mint", secret))
			require.NoError(t, roundTrip(t, addr, kafka.TLSConfig{}, kafka.SASLConfig{Mechanism: mechanism, Username: "mint", Password: secret}))
			// kfake hangs up on a wrong password; Apache Kafka says so.
			refusing := startCluster(t, kfake.EnableSASL(), kfake.Superuser(name, "mint", secret))
			refusing.ControlKey(int16(kmsg.SASLAuthenticate), func(request kmsg.Request) (kmsg.Response, error, bool) {
				refusing.KeepControl()
				answer := request.ResponseKind().(*kmsg.SASLAuthenticateResponse)
				answer.ErrorCode = kerr.SaslAuthenticationFailed.Code
				return answer, nil, true
			})
			err := roundTrip(t, refusing.ListenAddrs()[0], kafka.TLSConfig{}, kafka.SASLConfig{Mechanism: mechanism, Username: "mint", Password: "wrong"})
			requireOneLine(t, err, "kafka.sasl.password")
			require.NotContains(t, err.Error(), "wrong", "no secret in an error")
			requireOneLine(t, roundTrip(t, addr, kafka.TLSConfig{}, kafka.SASLConfig{}), "this port wants a login: set kafka.sasl.mechanism", addr)
		})
	}
	t.Run("a mechanism that the broker has not", func(t *testing.T) {
		cluster := startCluster(t, kfake.EnableSASL(), kfake.Superuser("PLAIN", "mint", secret))
		cluster.ControlKey(int16(kmsg.SASLHandshake), func(request kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			answer := request.ResponseKind().(*kmsg.SASLHandshakeResponse)
			answer.ErrorCode = kerr.UnsupportedSaslMechanism.Code
			return answer, nil, true
		})
		err := roundTrip(t, cluster.ListenAddrs()[0], kafka.TLSConfig{}, kafka.SASLConfig{Mechanism: "scram-sha-512", Username: "mint", Password: secret})
		require.ErrorContains(t, err, "kafka.sasl")
	})
}

func TestSecuritySettingsThatCannotBeRight(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "x")
	require.NoError(t, os.WriteFile(notPEM, []byte("hello"), 0o600))
	for want, c := range map[string]struct {
		tls  kafka.TLSConfig
		sasl kafka.SASLConfig
	}{
		"kafka.tls.enabled":    {kafka.TLSConfig{CAFile: notPEM}, kafka.SASLConfig{}},
		"holds no certificate": {kafka.TLSConfig{Enabled: true, CAFile: notPEM}, kafka.SASLConfig{}},
		"kafka.tls.ca_file":    {kafka.TLSConfig{Enabled: true, CAFile: "/nowhere"}, kafka.SASLConfig{}},
		"kafka.tls.key_file":   {kafka.TLSConfig{Enabled: true, CertFile: notPEM}, kafka.SASLConfig{}},
		"kafka.tls.cert_file":  {kafka.TLSConfig{Enabled: true, CertFile: notPEM, KeyFile: notPEM}, kafka.SASLConfig{}},
		"kafka.sasl.mechanism": {kafka.TLSConfig{}, kafka.SASLConfig{Mechanism: "magic", Username: "a", Password: "hunter2"}},
		"without kafka.sasl":   {kafka.TLSConfig{}, kafka.SASLConfig{Username: "a"}},
		"kafka.sasl.username":  {kafka.TLSConfig{}, kafka.SASLConfig{Mechanism: "plain", Password: "hunter2"}},
		"kafka.sasl.password":  {kafka.TLSConfig{}, kafka.SASLConfig{Mechanism: "plain", Username: "a"}},
		"AWS credentials":      {kafka.TLSConfig{Enabled: true}, kafka.SASLConfig{Mechanism: "aws-msk-iam", Username: "a", Password: "hunter2"}},
		"over TLS only":        {kafka.TLSConfig{}, kafka.SASLConfig{Mechanism: "aws-msk-iam"}},
	} {
		_, err := kafka.NewSecurity(c.tls, c.sasl)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
