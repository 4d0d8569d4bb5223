package kafka

import (
	"encoding/binary"
	"io"
	"net"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refusedKeys are the requests that Kafka has and the embedded broker does not serve.
func refusedKeys() []int16 {
	var keys []int16
	for key := range int16(kmsg.MaxKey + 1) {
		if _, served := allowedRequests[key]; !served && kmsg.RequestForKey(key) != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// fill gives request one element in each of its lists, and names in them.
func fill(v reflect.Value) {
	for i := range v.NumField() {
		field := v.Field(i)
		switch {
		case v.Type().Field(i).Name == "UnknownTags" || v.Type().Field(i).Name == "Version":
		case field.Kind() == reflect.String:
			field.SetString("name")
		case field.Kind() == reflect.Struct:
			fill(field)
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() != reflect.Uint8:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
			if element := field.Index(0); element.Kind() == reflect.Struct {
				fill(element)
			} else if element.Kind() == reflect.String {
				element.SetString("name")
			}
		}
	}
}

// errorCodes are all error codes in an answer, and how many lists of it are empty.
func errorCodes(v reflect.Value) (codes []int16) {
	for i := range v.NumField() {
		field := v.Field(i)
		switch {
		case v.Type().Field(i).Name == "ErrorCode":
			codes = append(codes, int16(field.Int()))
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			for j := range field.Len() {
				codes = append(codes, errorCodes(field.Index(j))...)
			}
		}
	}
	return codes
}

// TestEveryOtherRequestIsAnsweredAsUnsupported: each request of Kafka that the broker does not
// serve gets an answer that its client can read, with UNSUPPORTED_VERSION wherever an error can
// stand, in every version.
func TestEveryOtherRequestIsAnsweredAsUnsupported(t *testing.T) {
	keys := refusedKeys()
	require.Contains(t, keys, int16(71), "GetTelemetrySubscriptions, which confluent-kafka sends")
	require.Contains(t, keys, int16(21), "DeleteRecords, which a restart would undo")
	for _, key := range keys {
		for version := range kmsg.RequestForKey(key).MaxVersion() + 1 {
			request := kmsg.RequestForKey(key)
			request.SetVersion(version)
			fill(reflect.ValueOf(request).Elem())
			rest := []byte{0, 0, 0, 7, 0xff, 0xff}
			if request.IsFlexible() {
				rest = append(rest, 0)
			}
			answer := unsupportedAnswer(frameHead{key: key, version: version}, request.AppendTo(rest))

			require.EqualValues(t, 7, binary.BigEndian.Uint32(answer), "correlation id")
			response := request.ResponseKind()
			body := answer[correlationBytes:]
			if response.IsFlexible() {
				require.Zero(t, body[0])
				body = body[1:]
			}
			require.NoError(t, response.ReadFrom(body), "%s v%d", kmsg.NameForKey(key), version)
			codes := errorCodes(reflect.ValueOf(response).Elem())
			require.NotEmpty(t, codes, "%s v%d", kmsg.NameForKey(key), version)
			require.Contains(t, codes, kerr.UnsupportedVersion.Code, "%s v%d", kmsg.NameForKey(key), version)
		}
	}
}

// TestAnUnknownRequestKeepsItsConnection: the answer comes in its turn between those of the broker,
// and the connection goes on.
func TestAnUnknownRequestKeepsItsConnection(t *testing.T) {
	addr := guarded(t)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()

	metadata := kmsg.NewPtrMetadataRequest()
	metadata.SetVersion(8)
	known := frame(3, 8, metadata.AppendTo([]byte{0xff, 0xff}))
	telemetry := frame(71, 0, append([]byte{0xff, 0xff, 0}, kmsg.NewPtrGetTelemetrySubscriptionsRequest().AppendTo(nil)...))
	number := func(frame []byte, n uint32) []byte {
		binary.BigEndian.PutUint32(frame[8:], n)
		return frame
	}
	// All at once, as a client may.
	requests := append(number(known, 1), number(telemetry, 2)...)
	requests = append(requests, number(frame(4000, 0, []byte{0, 0}), 3)...)
	requests = append(requests, number(append([]byte(nil), known...), 4)...)
	_, err = conn.Write(requests)
	require.NoError(t, err)
	for want := range uint32(4) {
		answer := readFrame(t, conn)
		require.Equal(t, want+1, binary.BigEndian.Uint32(answer))
		switch want + 1 {
		case 2:
			response := kmsg.NewPtrGetTelemetrySubscriptionsResponse()
			require.NoError(t, response.ReadFrom(answer[correlationBytes+1:]))
			require.Equal(t, kerr.UnsupportedVersion.Code, response.ErrorCode)
		case 3:
			require.Equal(t, []byte{0, 35}, answer[correlationBytes:])
		}
	}
}

// TestApiVersionsAnnouncesWhatIsServed and nothing else: librdkafka sends whatever is announced.
func TestApiVersionsAnnouncesWhatIsServed(t *testing.T) {
	addr := guarded(t)
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write(frame(keyAPIVersions, 0, []byte{0xff, 0xff}))
	require.NoError(t, err)
	response := kmsg.NewPtrApiVersionsResponse()
	require.NoError(t, response.ReadFrom(readFrame(t, conn)[correlationBytes:]))
	announced := make(map[int16]int16)
	for _, key := range response.ApiKeys {
		announced[key.ApiKey] = key.MaxVersion
	}
	require.Equal(t, allowedRequests, announced)
}

// guarded runs a broker and returns its address.
func guarded(t *testing.T) string {
	t.Helper()
	broker, err := New(Config{DataDir: t.TempDir(), Addr: "127.0.0.1:0"}, Deps{})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- broker.Run(t.Context()) }()
	t.Cleanup(func() { require.NoError(t, <-done) }) // the test's context ends before
	require.NoError(t, broker.WaitReady(t.Context()))
	return broker.Addr()
}

func readFrame(t *testing.T, conn net.Conn) []byte {
	t.Helper()
	var size [lengthBytes]byte
	_, err := io.ReadFull(conn, size[:])
	require.NoError(t, err)
	answer := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(conn, answer)
	require.NoError(t, err)
	return answer
}
