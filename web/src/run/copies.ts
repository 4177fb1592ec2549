// The same run elsewhere.

interface Choices {
  source: string;
  seed: number;
  variants: string[];
}

const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The command that does it. */
export function command({ source, seed, variants }: Choices): string {
  if (variants.length === 0) return `bentpipe run ${quoted(source)} --seed ${seed}`;
  return `bentpipe compare ${quoted(source)} --variants ${quoted(variants.join(","))}`;
}

/** The program that does it: the command's document, in a dictionary. */
export function python({ source, seed, variants }: Choices): string {
  const words = ["bentpipe", ...(variants.length === 0 ? ["run", source, "--seed", String(seed), "--json"] : ["compare", source, "--variants", variants.join(","), "--format", "json"])];
  return `import json\nimport subprocess\n\nresult = json.loads(subprocess.run(${JSON.stringify(words)}, check=True, capture_output=True).stdout)\n`;
}
