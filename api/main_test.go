package api_test

import (
	"os"
	"testing"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/logos/decoder"
)

func TestMain(m *testing.M) {
	decoder.MaybeRunChild()
	os.Exit(chtest.Main(m))
}
