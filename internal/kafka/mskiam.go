package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/segmentio/kafka-go/sasl"
	franz "github.com/twmb/franz-go/pkg/sasl"
	franzaws "github.com/twmb/franz-go/pkg/sasl/aws"
)

// mskIAM logs in at Amazon MSK with AWS credentials: SASL mechanism AWS_MSK_IAM. franz-go signs the
// login. The AWS SDK finds the credentials in its usual places (environment, shared files, web
// identity of a pod, role of a container or machine) and renews them. The region is part of the
// broker's name, or else AWS_REGION.
type mskIAM struct {
	mechanism franz.Mechanism

	mu          sync.Mutex
	credentials aws.CredentialsProvider // nil before the first login
	found       bool                    // credentials were found before
}

func newMSKIAM() *mskIAM {
	m := &mskIAM{}
	m.mechanism = franzaws.ManagedStreamingIAM(m.retrieve)
	return m
}

// CredentialsError is a login that could not be signed.
type CredentialsError struct {
	// Advice says what is missing and where it comes from.
	Advice string
	Err    error
	// Transient is true if there were credentials before: only their renewal fails for now.
	Transient bool
}

// Error implements error.
func (e *CredentialsError) Error() string {
	return fmt.Sprintf("kafka.sasl.mechanism aws-msk-iam: %s (%v)", e.Advice, e.Err)
}

// Unwrap implements error.
func (e *CredentialsError) Unwrap() error { return e.Err }

// retrieve returns credentials that are valid now. The SDK caches them until they expire.
func (m *mskIAM) retrieve(ctx context.Context) (franzaws.Auth, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.credentials == nil {
		loaded, err := awsconfig.LoadDefaultConfig(ctx)
		if err != nil {
			return franzaws.Auth{}, &CredentialsError{Advice: "the AWS configuration cannot be read", Err: err}
		}
		m.credentials = loaded.Credentials
	}
	found, err := m.credentials.Retrieve(ctx)
	if err != nil {
		const advice = "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or give this machine or pod a role"
		return franzaws.Auth{}, &CredentialsError{Advice: advice, Err: err, Transient: m.found}
	}
	m.found = true
	return franzaws.Auth{
		AccessKey: found.AccessKeyID, SecretKey: found.SecretAccessKey, SessionToken: found.SessionToken, UserAgent: "mintlake",
	}, nil
}

// Name implements sasl.Mechanism.
func (m *mskIAM) Name() string { return m.mechanism.Name() }

// Start implements sasl.Mechanism.
func (m *mskIAM) Start(ctx context.Context) (sasl.StateMachine, []byte, error) {
	broker := sasl.MetadataFromContext(ctx)
	if broker == nil {
		return nil, nil, errors.New("sign kafka login: the broker's name is not known")
	}
	session, first, err := m.mechanism.Authenticate(ctx, net.JoinHostPort(broker.Host, strconv.Itoa(broker.Port)))
	var missing *CredentialsError
	switch {
	case errors.As(err, &missing):
		return nil, nil, missing
	case err != nil: // the broker's name has no region: an MSK broker's own name has one
		return nil, nil, &CredentialsError{Advice: "no region: set AWS_REGION", Err: err}
	}
	return mskSession{session}, first, nil
}

type mskSession struct{ franz.Session }

// Next implements sasl.StateMachine.
func (s mskSession) Next(_ context.Context, challenge []byte) (bool, []byte, error) {
	done, answer, err := s.Challenge(challenge)
	if err != nil {
		return false, nil, fmt.Errorf("read the answer to the kafka login: %w", err)
	}
	return done, answer, nil
}
