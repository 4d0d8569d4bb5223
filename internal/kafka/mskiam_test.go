package kafka_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/certs"
)

// withoutAWS hides what this machine knows of AWS.
func withoutAWS(t *testing.T) {
	t.Helper()
	nothing := filepath.Join(t.TempDir(), "nothing")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": nothing, "AWS_SHARED_CREDENTIALS_FILE": nothing, "AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "",
	} {
		t.Setenv(name, value)
	}
}

// TestMSKIAM looks at the login that a broker gets, and signs it anew after the documents: the
// payload is that of github.com/aws/aws-msk-iam-auth ("Authentication Payload"), the signature
// AWS's Signature Version 4 of a presigned URL.
func TestMSKIAM(t *testing.T) {
	withoutAWS(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
	t.Setenv("AWS_SESSION_TOKEN", "session/+=token")
	t.Setenv("AWS_REGION", "eu-central-1")
	ca := certs.New(t)
	pair := ca.Issue("kafka.example", time.Now().Add(time.Hour)).Pair
	cluster := startCluster(t, kfake.EnableSASL(), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
	mechanisms, payloads := make(chan string, 10), make(chan []byte, 10)
	cluster.ControlKey(int16(kmsg.SASLHandshake), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		mechanisms <- request.(*kmsg.SASLHandshakeRequest).Mechanism
		return request.ResponseKind(), nil, true
	})
	cluster.ControlKey(int16(kmsg.SASLAuthenticate), func(request kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		payloads <- request.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes
		answer := request.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		// SASL_AUTHENTICATION_FAILED: what comes behind the login is another test's
		answer.ErrorCode = 58
		return answer, nil, true
	})
	err := roundTrip(t, cluster.ListenAddrs()[0], kafka.TLSConfig{Enabled: true, CAFile: ca.File}, kafka.SASLConfig{Mechanism: "aws-msk-iam"})
	requireOneLine(t, err, "kafka refused the login")
	require.Equal(t, "AWS_MSK_IAM", <-mechanisms)

	var payload map[string]string
	require.NoError(t, json.Unmarshal(<-payloads, &payload))
	date := payload["x-amz-date"]
	at, err := time.Parse("20060102T150405Z", date)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)
	scope := date[:8] + "/eu-central-1/kafka-cluster/aws4_request"
	signature := payload["x-amz-signature"]
	delete(payload, "x-amz-signature")
	require.Equal(t, map[string]string{
		"version": "2020_10_22", "host": "127.0.0.1", "user-agent": "mintlake", "action": "kafka-cluster:Connect",
		"x-amz-algorithm": "AWS4-HMAC-SHA256", "x-amz-credential": "AKIDEXAMPLE/" + scope, "x-amz-date": date,
		"x-amz-security-token": "session/+=token", "x-amz-signedheaders": "host", "x-amz-expires": payload["x-amz-expires"],
	}, payload)
	expires, err := time.ParseDuration(payload["x-amz-expires"] + "s")
	require.NoError(t, err)
	require.LessOrEqual(t, expires, 15*time.Minute, "the longest that MSK takes")

	query := url.Values{
		"Action": {payload["action"]}, "X-Amz-Algorithm": {payload["x-amz-algorithm"]}, "X-Amz-Credential": {payload["x-amz-credential"]},
		"X-Amz-Date": {date}, "X-Amz-Expires": {payload["x-amz-expires"]}, "X-Amz-Security-Token": {payload["x-amz-security-token"]},
		"X-Amz-SignedHeaders": {"host"},
	}
	canonical := strings.Join([]string{"GET", "/", query.Encode(), "host:127.0.0.1", "", "host", hash("")}, "\n")
	key := []byte("AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
	for _, part := range strings.Split(scope, "/") {
		key = sign(key, part)
	}
	require.Equal(t, hex.EncodeToString(sign(key, strings.Join([]string{"AWS4-HMAC-SHA256", date, scope, hash(canonical)}, "\n"))), signature)
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func sign(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text))
	return h.Sum(nil)
}

// TestMSKIAMWithoutCredentials: one line that says where AWS credentials come from, and no endless
// attempts.
func TestMSKIAMWithoutCredentials(t *testing.T) {
	for want, settings := range map[string][]string{
		"no AWS credentials": {"AWS_REGION", "eu-central-1"},
		"set AWS_REGION":     {"AWS_ACCESS_KEY_ID", "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY", "hunter2"},
	} {
		t.Run(want, func(t *testing.T) {
			withoutAWS(t)
			for i := 0; i < len(settings); i += 2 {
				t.Setenv(settings[i], settings[i+1])
			}
			ca := certs.New(t)
			pair := ca.Issue("kafka.example", time.Now().Add(time.Hour)).Pair
			cluster := startCluster(t, kfake.EnableSASL(), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
			cluster.ControlKey(int16(kmsg.SASLHandshake), func(request kmsg.Request) (kmsg.Response, error, bool) {
				cluster.KeepControl()
				return request.ResponseKind(), nil, true
			})
			err := roundTrip(t, cluster.ListenAddrs()[0], kafka.TLSConfig{Enabled: true, CAFile: ca.File}, kafka.SASLConfig{Mechanism: "aws-msk-iam"})
			requireOneLine(t, err, "kafka.sasl.mechanism aws-msk-iam", want)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}
