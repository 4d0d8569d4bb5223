package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBrokerTestsUseTheBroker: what make test-kafka repeats over Apache Kafka exists and asks
// for a broker. Else a renamed test would be left out without a word.
func TestBrokerTestsUseTheBroker(t *testing.T) {
	files, err := filepath.Glob("../../e2e/*_test.go")
	require.NoError(t, err)
	homes := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			homes[name[1]] = string(text)
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	names := regexp.MustCompile(`(?m)^BROKER_TESTS := (\S+)$`).FindSubmatch(makefile)
	require.NotNil(t, names)
	for name := range strings.SplitSeq(string(names[1]), "|") {
		require.Contains(t, homes, name)
		require.Regexp(t, `kafkaFlags\(|kafkatest\.Start|startCluster`, homes[name], name)
	}
}
