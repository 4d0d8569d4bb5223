package chain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLaunchedTokensGraduate: they are created on the launchpad in both of its ways, some are taken
// to a pool, and those are traded.
func TestLaunchedTokensGraduate(t *testing.T) {
	cfg := testConfig()
	cfg.Past = 600
	g, err := New(cfg)
	require.NoError(t, err)
	kinds, failed := map[[8]byte]int{}, 0
	routes, hops, traded := 0, 0, map[Key]int{}
	graduated := map[Key]bool{} // pools
	for range 700 {
		s, _ := g.Next(nil)
		if s.Kind != Live {
			continue
		}
		for _, tx := range s.Block.Txs {
			keys := tx.Message.AccountKeys()
			for _, ix := range tx.Message.Instructions {
				switch {
				case tx.Meta.Err != nil && keys[ix.Program] == LauncherProgram && [8]byte(ix.Data) == launchMigrate:
					failed++
				case tx.Meta.Err != nil:
				case keys[ix.Program] == JupiterProgram:
					routes++
					hops += int(ix.Data[8])
				case keys[ix.Program] == LauncherProgram:
					kinds[[8]byte(ix.Data)]++
					if [8]byte(ix.Data) == launchMigrate {
						graduated[keys[ix.Accounts[9]]] = true
					}
				}
			}
			for _, key := range keys {
				if graduated[key] && tx.Meta.Err == nil {
					traded[key]++
				}
			}
		}
	}
	require.Greater(t, kinds[launchCreate], 10)
	require.Greater(t, kinds[launchCreateV2], 10)
	require.Greater(t, kinds[launchMigrate], 5)
	require.Less(t, failed, kinds[launchMigrate])
	most := 0
	for _, n := range traded {
		most = max(most, n)
	}
	require.Greater(t, most, 20)
	require.Greater(t, routes, 200)
	require.Greater(t, hops, routes+20, "some have two hops")
}
