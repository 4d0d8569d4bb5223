/** Chips are the choices of one filter or order; the one that holds is pressed. */
export function Chips<T extends string>({ label, value, choices, choose }: { label: string; value: T; choices: readonly (readonly [T, string])[]; choose: (value: T) => void }) {
  return (
    <div class="chips" role="group" aria-label={label}>
      <span aria-hidden="true">{label}</span>
      {choices.map(([key, text]) => (
        <button key={key} type="button" class="chip" aria-pressed={key === value} onClick={() => choose(key)}>
          {text}
        </button>
      ))}
    </div>
  );
}
