package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/sasl"
	"github.com/segmentio/kafka-go/sasl/plain"
	"github.com/segmentio/kafka-go/sasl/scram"

	"github.com/mintlake/mintlake/internal/tlsclient"
)

// TLSConfig says how connections to the brokers are encrypted.
type TLSConfig struct {
	Enabled    bool   `koanf:"enabled" usage:"speak TLS to --kafka-brokers"`
	CAFile     string `koanf:"ca_file" usage:"PEM file of the authorities that sign the brokers' certificates; empty: those of the system"`
	CertFile   string `koanf:"cert_file" usage:"PEM file of this client's certificate, for brokers that ask for one"`
	KeyFile    string `koanf:"key_file" usage:"PEM file of that certificate's private key"`
	ServerName string `koanf:"server_name" usage:"name that the brokers' certificates must hold; empty: the host of each address"`
}

// SASLConfig says how to log in at the brokers.
type SASLConfig struct {
	Mechanism string `koanf:"mechanism" usage:"login at --kafka-brokers: plain, scram-sha-256, scram-sha-512 or aws-msk-iam; empty: none"`
	Username  string `koanf:"username" usage:"user name of the login"`
	Password  string `koanf:"password" usage:"password of the login" secret:"true"`
}

// Mechanisms of SASLConfig.
const (
	MechanismPlain       = "plain"
	MechanismScramSHA256 = "scram-sha-256"
	MechanismScramSHA512 = "scram-sha-512"
	MechanismAWSMSKIAM   = "aws-msk-iam"
)

// Security is how connections to the brokers are encrypted and authenticated. Nil means plain text
// without a login, as for the embedded broker.
type Security struct {
	tls       *tls.Config
	sasl      sasl.Mechanism
	encrypted atomic.Bool // see dialer
}

// NewSecurity reads the files that the settings name. The error joins all problems, each with the
// name of its setting.
func NewSecurity(t TLSConfig, s SASLConfig) (*Security, error) {
	encryption, tlsErr := t.load()
	login, saslErr := s.load()
	if strings.EqualFold(s.Mechanism, MechanismAWSMSKIAM) && !t.Enabled {
		saslErr = errors.Join(saslErr, errors.New("kafka.sasl.mechanism: aws-msk-iam goes over TLS only: set kafka.tls.enabled"))
	}
	if err := errors.Join(tlsErr, saslErr); err != nil {
		return nil, err
	}
	return &Security{tls: encryption, sasl: login}, nil
}

func (t TLSConfig) load() (*tls.Config, error) {
	if !t.Enabled {
		if t != (TLSConfig{}) {
			return nil, errors.New("kafka.tls: settings without kafka.tls.enabled: set it, or take the others away")
		}
		return nil, nil // plain text needs no configuration
	}
	return tlsclient.Files{CA: t.CAFile, Cert: t.CertFile, Key: t.KeyFile, ServerName: t.ServerName}.Load("kafka.tls.")
}

func (s SASLConfig) load() (sasl.Mechanism, error) {
	if s.Mechanism == "" {
		if s != (SASLConfig{}) {
			return nil, errors.New("kafka.sasl: settings without kafka.sasl.mechanism: set it, or take the others away")
		}
		return nil, nil // no login
	}
	mechanism := strings.ToLower(s.Mechanism)
	if mechanism == MechanismAWSMSKIAM {
		if s.Username != "" || s.Password != "" {
			return nil, errors.New("kafka.sasl.username and kafka.sasl.password: aws-msk-iam takes AWS credentials, take these away")
		}
		return newMSKIAM(), nil
	}
	if s.Username == "" {
		return nil, errors.New("kafka.sasl.username: is empty")
	}
	if s.Password == "" {
		return nil, errors.New("kafka.sasl.password: is empty; set it, or kafka.sasl.password_file")
	}
	switch mechanism {
	case MechanismPlain:
		return plain.Mechanism{Username: s.Username, Password: s.Password}, nil
	case MechanismScramSHA256:
		return scramLogin(scram.SHA256, s.Username, s.Password)
	case MechanismScramSHA512:
		return scramLogin(scram.SHA512, s.Username, s.Password)
	}
	return nil, fmt.Errorf("kafka.sasl.mechanism: %q, must be %s, %s, %s or %s",
		s.Mechanism, MechanismPlain, MechanismScramSHA256, MechanismScramSHA512, MechanismAWSMSKIAM)
}

func scramLogin(algorithm scram.Algorithm, username, password string) (sasl.Mechanism, error) {
	login, err := scram.Mechanism(algorithm, username, password)
	if err != nil { // characters that SASLprep forbids
		return nil, fmt.Errorf("kafka.sasl.username or kafka.sasl.password: %w", err)
	}
	return login, nil
}

// explainLogin adds what to do about a login that a broker refused. Other errors are returned
// unchanged.
func explainLogin(err error) error {
	switch {
	case isCode(err, kafkago.SASLAuthenticationFailed):
		return fmt.Errorf("kafka refused the login: see kafka.sasl.username and kafka.sasl.password: %w", err)
	case isCode(err, kafkago.UnsupportedSASLMechanism):
		return fmt.Errorf("kafka has no such login: see kafka.sasl.mechanism: %w", err)
	case isCode(err, kafkago.IllegalSASLState):
		return fmt.Errorf("kafka wants another login, or none: see kafka.sasl.mechanism: %w", err)
	}
	return err
}
