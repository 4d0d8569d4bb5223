package swap

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// The routes of Jupiter's swap API (dev.jup.ag, Swap API v1), so that clients of Jupiter need only
// another base URL. They differ from our own routes in the shape of their answers and in the
// defaults of parameters.
const (
	routeJupiterQuote        = "/swap/v1/quote"
	routeJupiterSwap         = "/swap/v1/swap"
	routeJupiterInstructions = "/swap/v1/swap-instructions"
	routeJupiterLabels       = "/swap/v1/program-id-to-label"
)

// jupiterBuilt is the answer of POST /swap/v1/swap. Jupiter's answer has further members, which are
// about parameters that are refused here.
type jupiterBuilt struct {
	SwapTransaction string `json:"swapTransaction"`
	jupiterTerms
}

// jupiterTerms is what the answers of /swap and /swap-instructions both tell about the transaction.
type jupiterTerms struct {
	LastValidBlockHeight      uint64  `json:"lastValidBlockHeight"`
	PrioritizationFeeLamports uint64  `json:"prioritizationFeeLamports"`
	ComputeUnitLimit          uint32  `json:"computeUnitLimit"`
	SimulationSlot            *uint64 `json:"simulationSlot"`
	// SimulationError is null if the transaction would succeed, or if it was not simulated.
	SimulationError *jupiterSimulationError `json:"simulationError"`
	// Warnings are those of our own answer.
	Warnings []string `json:"warnings"`
}

type jupiterSimulationError struct {
	ErrorCode string `json:"errorCode"`
	Error     string `json:"error"`
}

// jupiterInstructions is the answer of POST /swap/v1/swap-instructions. A client that puts the
// instructions into a transaction in the order of these members gets what /swap builds. A route
// over several pools mostly has one instruction for each swap: SetupInstructions then have all
// swaps but the last.
type jupiterInstructions struct {
	ComputeBudgetInstructions []jupiterInstruction `json:"computeBudgetInstructions"`
	SetupInstructions         []jupiterInstruction `json:"setupInstructions"`
	SwapInstruction           jupiterInstruction   `json:"swapInstruction"`
	CleanupInstruction        *jupiterInstruction  `json:"cleanupInstruction"`
	// OtherInstructions has the tip.
	OtherInstructions           []jupiterInstruction `json:"otherInstructions"`
	AddressLookupTableAddresses []string             `json:"addressLookupTableAddresses"`
	BlockhashWithMetadata       jupiterBlockhash     `json:"blockhashWithMetadata"`
	jupiterTerms
}

type jupiterBlockhash struct {
	// Blockhash has 32 numbers.
	Blockhash            []uint16 `json:"blockhash"`
	LastValidBlockHeight uint64   `json:"lastValidBlockHeight"`
}

type jupiterInstruction struct {
	ProgramID string           `json:"programId"`
	Accounts  []jupiterAccount `json:"accounts"`
	// Data is base64.
	Data string `json:"data"`
}

type jupiterAccount struct {
	Pubkey     string `json:"pubkey"`
	IsSigner   bool   `json:"isSigner"`
	IsWritable bool   `json:"isWritable"`
}

// asJupiter sets the defaults of Jupiter's API, and changes values that Jupiter's API accepts and
// ours refuses: it lowers a maxAccounts above ours, and leaves out excluded venues that this server
// does not know.
func (f fields) asJupiter() fields {
	f = f.with(fieldFormat, formatJupiter)
	if name, text := f.get(fieldMaxAccounts); text != "" {
		if n, err := strconv.ParseUint(text, 10, 64); err == nil && n > maxAccounts {
			f = f.with(name, strconv.Itoa(maxAccounts))
		}
	}
	if name, text := f.get(fieldExclude); text != "" {
		var named []string
		for _, entry := range strings.Split(text, ",") {
			if _, ok := venueNamed(strings.TrimSpace(entry)); ok {
				named = append(named, entry)
			}
		}
		f = f.with(name, strings.Join(named, ","))
	}
	// A quote that is sent back names its pools, so this default is not needed.
	_, quote := f.get(fieldQuote)
	if _, hubs := f.get(fieldOnlyHubs); hubs == "" && quote == "" {
		f = f.with(fieldOnlyHubs, "true")
	}
	return f
}

// jupiterQuoteGet is GET /swap/v1/quote.
func (s *Server) jupiterQuoteGet(ctx context.Context, c *fiber.Ctx) error {
	f, err := queryFields(c)
	if err != nil {
		return err
	}
	r, err := parseRequest(f.asJupiter(), false)
	if err != nil {
		return err
	}
	return s.answer(ctx, c, r, false)
}

// jupiterPost reads the body of a POST, and makes the quote and its transaction. It uses only the
// pools of the quote that is sent back, so that the venues which that quote left out stay left out.
func (s *Server) jupiterPost(ctx context.Context, c *fiber.Ctx) (*Response, *choice, error) {
	f, err := postFields(c)
	if err != nil {
		return nil, nil, err
	}
	pools, err := f.routed()
	if err != nil {
		return nil, nil, err
	}
	r, err := parseRequest(f.asJupiter(), true)
	if err != nil {
		return nil, nil, err
	}
	r.pools = pools
	out, chosen, err := s.quote(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	s.count(out)
	if !r.skipAccounts {
		out.Simulation = s.simulate(ctx, out.Txn)
	}
	return out, chosen, nil
}

// maxSteps is how many swaps a quote that is sent back may have.
const maxSteps = 64

// routed returns the pools of the quote that is sent back; nil without a quote.
func (f fields) routed() (map[venue.Key]bool, error) {
	name, text := f.get(fieldQuote)
	if text == "" {
		return nil, nil
	}
	var quote struct {
		RoutePlan []jupiterStep `json:"routePlan"`
	}
	if err := json.Unmarshal([]byte(text), &quote); err != nil || len(quote.RoutePlan) == 0 || len(quote.RoutePlan) > maxSteps {
		return nil, badRequest("%s must be a quote as GET %s answered it: its routePlan has 1 to %d swaps", name, routeJupiterQuote, maxSteps)
	}
	pools := map[venue.Key]bool{}
	for i := range quote.RoutePlan {
		text := quote.RoutePlan[i].SwapInfo.AmmKey
		pool, err := pubkey.Parse(text)
		if err != nil {
			return nil, invalid(name+".routePlan.swapInfo.ammKey", text, ruleKey)
		}
		pools[pool] = true
	}
	return pools, nil
}

// jupiterSwapPost is POST /swap/v1/swap.
func (s *Server) jupiterSwapPost(ctx context.Context, c *fiber.Ctx) error {
	out, _, err := s.jupiterPost(ctx, c)
	if err != nil {
		return err
	}
	return c.JSON(jupiterBuilt{out.Txn, termsOf(out)})
}

// jupiterInstructionsPost is POST /swap/v1/swap-instructions.
func (s *Server) jupiterInstructionsPost(ctx context.Context, c *fiber.Ctx) error {
	out, chosen, err := s.jupiterPost(ctx, c)
	if err != nil {
		return err
	}
	built := chosen.made.built
	steps, other := built.Steps, []venue.Instruction{}
	if built.TipAt >= 0 {
		steps, other = steps[:built.TipAt], steps[built.TipAt:]
	}
	answer := jupiterInstructions{
		ComputeBudgetInstructions: instructionsOf(built.Budget), OtherInstructions: instructionsOf(other), AddressLookupTableAddresses: out.LookupTables,
		BlockhashWithMetadata: jupiterBlockhash{LastValidBlockHeight: out.LastValidBlockHeight}, jupiterTerms: termsOf(out),
	}
	for _, b := range chosen.made.blockhash {
		answer.BlockhashWithMetadata.Blockhash = append(answer.BlockhashWithMetadata.Blockhash, uint16(b))
	}
	// Jupiter's answer has one cleanup instruction. If several instructions follow the last swap,
	// the last of them is the cleanup, and the one before it stands in the place of the swap, so
	// that the order stays.
	if last := len(steps) - 1; last > built.LastSwap {
		cleanup := instructionOf(&steps[last])
		answer.CleanupInstruction, steps = &cleanup, steps[:last]
	}
	last := len(steps) - 1
	answer.SetupInstructions, answer.SwapInstruction = instructionsOf(steps[:last]), instructionOf(&steps[last])
	return c.JSON(answer)
}

// jupiterLabelsGet is GET /swap/v1/program-id-to-label: the labels of the venues that are quoted.
func (s *Server) jupiterLabelsGet(_ context.Context, c *fiber.Ctx) error {
	if err := onlyQuery(c); err != nil {
		return err
	}
	labels := map[string]string{}
	for _, v := range s.cfg.venues {
		labels[v.Program().String()] = label(v.Name())
	}
	return c.JSON(labels)
}

func termsOf(out *Response) jupiterTerms {
	t := jupiterTerms{LastValidBlockHeight: out.LastValidBlockHeight, PrioritizationFeeLamports: out.PriorityFee, ComputeUnitLimit: out.ComputeUnits, Warnings: out.Warnings}
	if seen := out.Simulation; seen != nil {
		t.SimulationSlot = &seen.Slot
		if text := string(seen.Err); text != "null" {
			t.SimulationError = &jupiterSimulationError{"TRANSACTION_ERROR", text}
		}
	}
	return t
}

func instructionsOf(list []venue.Instruction) []jupiterInstruction {
	out := make([]jupiterInstruction, len(list))
	for i := range list {
		out[i] = instructionOf(&list[i])
	}
	return out
}

func instructionOf(in *venue.Instruction) jupiterInstruction {
	out := jupiterInstruction{ProgramID: in.Program.String(), Accounts: make([]jupiterAccount, len(in.Accounts)), Data: base64.StdEncoding.EncodeToString(in.Data)}
	for i, m := range in.Accounts {
		out.Accounts[i] = jupiterAccount{m.Key.String(), m.Signer, m.Writable}
	}
	return out
}
