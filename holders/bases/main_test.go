package bases

import (
	"os"
	"testing"

	"github.com/mintlake/mintlake/internal/testkit/chtest"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }
