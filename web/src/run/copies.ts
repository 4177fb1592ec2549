// The same run elsewhere.

interface Choices {
  source: string;
  seed: number;
  variants: string[];
}

export const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The command that does it. */
export function command({ source, seed, variants }: Choices): string {
  if (variants.length === 0) return `bentpipe run ${quoted(source)} --seed ${seed}`;
  return `bentpipe compare ${quoted(source)} --variants ${quoted(variants.join(","))}`;
}

/** The program that does it. */
export function python({ source, seed, variants }: Choices): string {
  const head = `import bentpipe as bp\n\nscenario = bp.scenario(${JSON.stringify(source)})\n`;
  if (variants.length === 0) return `${head}print(scenario.run(seed=${seed}).summary)\n`;
  return `${head}compared = scenario.compare(${JSON.stringify(variants)}, seeds=[${seed}])\nprint(compared.ranking.rows())\n`;
}
