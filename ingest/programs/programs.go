// Package programs notices new builds of the programs that ingest decodes.
//
// In: how the programs are deployed, by RPC, once an hour. Out: an unknown for each program that
// was deployed anew, with the slots of the old and the new deployment and the hash of the new
// executable. Guarantees: with a file, a deployment that happened while no Watch ran is noticed at
// the next start. Programs that cannot be deployed again are never reported. If the upstream does
// not answer, it is asked again an hour later, and nothing else waits for it.
package programs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/decode/launchpads"
	"github.com/mintlake/mintlake/ingest/decode/venues"
	"github.com/mintlake/mintlake/internal/durable"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/tokenaccount"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// RPC reads accounts. *solana.Client is one.
type RPC interface {
	GetMultipleAccounts(ctx context.Context, keys []pubkey.Key, opts solana.AccountOptions) (slot uint64, accounts []*solana.Account, err error)
}

// Program is a program that ingest decodes.
type Program struct {
	// Name is its label in metrics.
	Name    string
	Program pubkey.Key
}

// Decoded returns the programs that ingest decodes, each once.
func Decoded() []Program {
	list := []Program{
		{decode.ProgramToken, tokenaccount.ProgramToken}, {decode.ProgramToken2022, tokenaccount.ProgramToken2022},
		{decode.ProgramMetaplex, tokenaccount.ProgramMetaplex},
	}
	add := func(name, program string) {
		key := pubkey.MustParse(program)
		if !slices.ContainsFunc(list, func(p Program) bool { return p.Program == key }) {
			list = append(list, Program{name, key})
		}
	}
	for _, v := range venues.All() {
		add(v.Name, v.Program)
	}
	for _, a := range decode.Aggregators() {
		add(a.Name, a.Program)
	}
	for _, l := range launchpads.All() {
		add(l.Name, l.Program)
	}
	return list
}

// Config of a Watch. Zero values take the defaults named at each field.
type Config struct {
	// programs are the programs to watch. Default Decoded.
	programs []Program
	// Every is the time between two looks at the programs. Default 1 h.
	Every time.Duration
	// File is the path of the file that keeps the known deployments between runs. If it is empty,
	// the deployments that the first look finds are the known ones.
	File string
}

// Deps are the collaborators. RPC is required; Unknowns and Logger may be nil.
type Deps struct {
	RPC      RPC
	Unknowns *unknowns.Book
	Logger   *slog.Logger
}

// Watch looks at the programs every Config.Every. It is for one goroutine.
type Watch struct {
	cfg  Config
	deps Deps
	data []pubkey.Key // the data account of each program
	// slots are the slots of the known deployments, by the program's address in base58.
	slots map[string]uint64
}

// New returns a Watch. It does no I/O. It returns an error if there is no RPC client.
func New(cfg Config, deps Deps) (*Watch, error) {
	if deps.RPC == nil {
		return nil, errors.New("programs: an RPC client is required")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if cfg.programs == nil {
		cfg.programs = Decoded()
	}
	cfg.Every = cmp.Or(max(cfg.Every, 0), time.Hour)
	w := &Watch{cfg: cfg, deps: deps, slots: map[string]uint64{}}
	for _, p := range cfg.programs {
		data, ok := solana.ProgramDataAddress(p.Program)
		if !ok {
			return nil, fmt.Errorf("programs: %s has no data account", p.Program.String())
		}
		w.data = append(w.data, data)
	}
	return w, nil
}

// load reads the known deployments from the file. If that fails, no deployment is known.
func (w *Watch) load() {
	if w.cfg.File == "" {
		return
	}
	content, err := os.ReadFile(w.cfg.File)
	if err == nil {
		err = json.Unmarshal(content, &w.slots)
	}
	if err != nil || w.slots == nil { // the JSON text null makes the map nil without an error
		w.slots = map[string]uint64{}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.deps.Logger.Warn("the known builds of programs cannot be read: those deployed now count as known", "file", w.cfg.File, "err", err)
	}
}

// Run reads the file, then looks at the programs again and again until ctx ends. It returns nil.
func (w *Watch) Run(ctx context.Context) error {
	w.load()
	for {
		if err := w.look(ctx); err != nil && ctx.Err() == nil {
			w.deps.Logger.Warn("builds of programs were not read", "err", err)
		}
		if pause.For(ctx, w.cfg.Every) != nil {
			return nil
		}
	}
}

// look reads how all programs are deployed, and passes each deployment to see. If one was new, look
// writes the file.
func (w *Watch) look(ctx context.Context) error {
	changed := false
	// A program has two accounts, so a call reads half as many programs.
	for from := 0; from < len(w.data); from += solana.MaxAccountsPerCall / 2 {
		to := min(from+solana.MaxAccountsPerCall/2, len(w.data))
		deployments, err := w.read(ctx, from, to)
		if err != nil {
			return err
		}
		for i, d := range deployments {
			changed = w.see(ctx, w.cfg.programs[from+i], d) || changed
		}
	}
	if !changed || w.cfg.File == "" {
		return nil
	}
	content, err := json.MarshalIndent(w.slots, "", "  ")
	if err != nil {
		return err
	}
	return durable.Replace(w.cfg.File, content)
}

// read reads by one call how the programs with the indexes from..to-1 are deployed. They must be at
// most half of MaxAccountsPerCall.
func (w *Watch) read(ctx context.Context, from, to int) ([]solana.Deployment, error) {
	var keys []pubkey.Key
	for i := from; i < to; i++ {
		keys = append(keys, w.cfg.programs[i].Program, w.data[i])
	}
	_, accounts, err := w.deps.RPC.GetMultipleAccounts(ctx, keys, solana.AccountOptions{
		Commitment: solana.Finalized, DataSlice: &solana.DataSlice{Length: solana.DeploymentDataSize},
	})
	if err != nil {
		return nil, err
	}
	deployments := make([]solana.Deployment, to-from)
	for i := range deployments {
		deployments[i] = solana.DeploymentOf(keys[2*i], keys[2*i+1], accounts[2*i], accounts[2*i+1])
	}
	return deployments, nil
}

// change is the sample of an unknown.
type change struct {
	Program string `json:"program"`
	OldSlot uint64 `json:"old_slot"`
	NewSlot uint64 `json:"new_slot"`
	// SHA256 is solana.ExecutableHash of the new build; empty if it could not be read.
	SHA256 string `json:"sha256"`
}

// see compares a program's deployment with the known one, and returns whether it is new. If a
// deployment was known before, see also notes an unknown. see ignores a deployment of a lower slot
// than the known one, because the server that told it is behind.
func (w *Watch) see(ctx context.Context, p Program, d solana.Deployment) bool {
	address := p.Program.String()
	known, seen := w.slots[address]
	if d.Slot == 0 || seen && d.Slot <= known {
		return false
	}
	w.slots[address] = d.Slot
	if !seen {
		return true
	}
	c := change{Program: address, OldSlot: known, NewSlot: d.Slot}
	_, accounts, err := w.deps.RPC.GetMultipleAccounts(ctx, []pubkey.Key{d.Code}, solana.AccountOptions{Commitment: solana.Finalized})
	if err != nil {
		w.deps.Logger.Warn("the executable of a program was not read", "program_id", address, "slot", d.Slot, "err", err)
	} else if executable, same := d.Executable(accounts[0]); same {
		c.SHA256 = solana.ExecutableHash(executable)
	}
	sample, _ := json.Marshal(c) // cannot fail: c has only texts and numbers
	w.deps.Unknowns.Note(unknowns.ProgramChange, p.Name, unknowns.Sighting{Source: "ingest", Slot: d.Slot, Place: address, Sample: sample})
	return true
}
