package kafka_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/certs"
	"github.com/mintlake/mintlake/internal/testkit/kafkatest"
)

// TestSecurityOfApacheKafka holds TLS and logins to Apache Kafka itself: one broker with a port of
// each kind.
func TestSecurityOfApacheKafka(t *testing.T) {
	if !kafkatest.Apache(t) {
		t.Skip("wants MINTLAKE_TEST_KAFKA=apache (make test-kafka); TestTLS and TestSASL are the same without Java")
	}
	const secret = "hunter2"
	ca := certs.New(t)
	// a key and its certificate in one PEM file, as Apache Kafka reads them
	store := func(end time.Time) string {
		issued := ca.Issue("kafka.example", end)
		var both []byte
		for _, file := range []string{issued.KeyFile, issued.CertFile} {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			both = append(both, text...)
		}
		file := filepath.Join(t.TempDir(), "store.pem")
		require.NoError(t, os.WriteFile(file, both, 0o600))
		return file
	}
	valid, expired := store(time.Now().Add(time.Hour)), store(time.Now().Add(-time.Hour))
	encryption := func(keyStore string, more ...string) map[string]string {
		settings := map[string]string{
			"ssl.keystore.type": "PEM", "ssl.keystore.location": keyStore,
			"ssl.truststore.type": "PEM", "ssl.truststore.location": ca.File,
		}
		for i := 0; i < len(more); i += 2 {
			settings[more[i]] = more[i+1]
		}
		return settings
	}
	const scramModule = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	login := []string{
		"sasl.enabled.mechanisms", "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		"plain.sasl.jaas.config", `org.apache.kafka.common.security.plain.PlainLoginModule required user_mint="` + secret + `";`,
		"scram-sha-256.sasl.jaas.config", scramModule, "scram-sha-512.sasl.jaas.config", scramModule,
	}
	onlyPlain := append([]string{}, login...)
	onlyPlain[1] = "PLAIN"
	plain, at := kafkatest.StartSecure(t, kafkatest.Secure{
		Users: map[string]string{"mint": secret},
		Files: []string{valid, expired, ca.File},
		Listeners: []kafkatest.Listener{
			{Name: "encrypted", Protocol: "SSL", Settings: encryption(valid)},
			{Name: "expired", Protocol: "SSL", Settings: encryption(expired)},
			{Name: "mutual", Protocol: "SSL", Settings: encryption(valid, "ssl.client.auth", "required")},
			{Name: "login", Protocol: "SASL_SSL", Settings: encryption(valid, login...)},
			{Name: "plainlogin", Protocol: "SASL_SSL", Settings: encryption(valid, onlyPlain...)},
		},
	})
	testTLS(t, ca, tlsBrokers{encrypted: at["encrypted"], expired: at["expired"], mutual: at["mutual"], plain: plain})

	trusting := kafka.TLSConfig{Enabled: true, CAFile: ca.File}
	for _, mechanism := range []string{kafka.MechanismPlain, kafka.MechanismScramSHA256, kafka.MechanismScramSHA512} {
		t.Run(mechanism, func(t *testing.T) {
			right := kafka.SASLConfig{Mechanism: mechanism, Username: "mint", Password: secret}
			require.NoError(t, roundTrip(t, at["login"], trusting, right))
			wrong, nobody := right, right
			wrong.Password, nobody.Username = "geheim", "nobody"
			for _, c := range []kafka.SASLConfig{wrong, nobody} {
				err := roundTrip(t, at["login"], trusting, c)
				requireOneLine(t, err, "kafka refused the login: see kafka.sasl.username and kafka.sasl.password")
				require.NotContains(t, err.Error(), c.Password)
			}
			requireOneLine(t, roundTrip(t, at["login"], kafka.TLSConfig{}, right), "this port seems to want TLS: set kafka.tls.enabled")
			requireOneLine(t, roundTrip(t, at["encrypted"], trusting, right), "kafka.sasl.mechanism")
		})
	}
	t.Run("no login", func(t *testing.T) {
		err := roundTrip(t, at["login"], trusting, kafka.SASLConfig{})
		requireOneLine(t, err, "this port wants a login: set kafka.sasl.mechanism, it has plain, scram-sha-256, scram-sha-512", at["login"])
	})
	t.Run("a mechanism that the broker has not", func(t *testing.T) {
		err := roundTrip(t, at["plainlogin"], trusting, kafka.SASLConfig{Mechanism: kafka.MechanismScramSHA512, Username: "mint", Password: secret})
		requireOneLine(t, err, "kafka has no such login: see kafka.sasl.mechanism")
	})
}
