"""What a call costs, by the price list of genai-prices or by the user's own figures; None is unknown, never 0."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache

from autoreproduce.budget import Cost
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError

# provider -> (variable that holds its key, its name in genai-prices)
PROVIDERS: Mapping[str, tuple[str, str]] = {
    "openai": ("OPENAI_API_KEY", "openai"),
    "anthropic": ("ANTHROPIC_API_KEY", "anthropic"),
    "azure_openai": ("AZURE_OPENAI_API_KEY", "azure"),
    "bedrock": ("", "aws"),
    "bedrock_converse": ("", "aws"),
    "cohere": ("COHERE_API_KEY", "cohere"),
    "deepseek": ("DEEPSEEK_API_KEY", "deepseek"),
    "fireworks": ("FIREWORKS_API_KEY", "fireworks"),
    "google_genai": ("GOOGLE_API_KEY", "google"),
    "google_vertexai": ("", "google"),
    "groq": ("GROQ_API_KEY", "groq"),
    "huggingface": ("", ""),
    "mistralai": ("MISTRAL_API_KEY", "mistral"),
    "nvidia": ("NVIDIA_API_KEY", ""),
    "ollama": ("", ""),
    "openrouter": ("OPENROUTER_API_KEY", "openrouter"),
    "perplexity": ("PPLX_API_KEY", "perplexity"),
    "together": ("TOGETHER_API_KEY", "together"),
    "xai": ("XAI_API_KEY", "x-ai"),
}


@dataclass(frozen=True)
class Usage:
    """Tokens of one call. `input` is the whole prompt, with `cached` and `cache_write`; `output` holds `reasoning`."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cache_write: int = 0

    def as_dict(self) -> dict[str, int]:
        """As a journal holds it."""
        return {key: value for key, value in asdict(self).items() if value or key != "cache_write"}


@dataclass(frozen=True)
class Rates:
    """Dollars a million tokens."""

    input: float
    cached: float
    output: float

    @classmethod
    def parse(cls, text: str) -> Rates:
        """`INPUT,CACHED,OUTPUT`. Raises UsageError."""
        try:
            rates = cls(*(float(part.strip().lstrip("$")) for part in text.split(",")))
        except (TypeError, ValueError):
            raise UsageError(_PRICE_HELP.format(text)) from None
        if not all(0 <= rate < float("inf") for rate in (rates.input, rates.cached, rates.output)):
            raise UsageError(_PRICE_HELP.format(text))
        return rates

    def of(self, usage: Usage) -> float:
        """Dollars for one call."""
        fresh = usage.input - usage.cached
        return (fresh * self.input + usage.cached * self.cached + usage.output * self.output) / 1e6


_PRICE_HELP = "--price {!r} is not understood: give INPUT,CACHED,OUTPUT in dollars a million tokens, e.g. 0.25,0.025,2"


def price_of(usage: Usage, model_name: str, settings: Settings) -> float | None:
    """Dollars for one call of `model_name` (with or without `provider:`), None where the price is unknown.

    `settings.price` comes first. Behind a base URL only the address of a listed provider has a price.
    """
    if settings.price is not None:
        return Rates.parse(settings.price).of(usage)
    prefix, _, rest = model_name.partition(":")
    provider = prefix.replace("-", "_").lower()
    if rest and provider in PROVIDERS:
        return _listed(usage, rest, provider, endpoint(settings) if provider == "openai" else None)
    return _listed(usage, model_name, "", endpoint(settings))


def cost_of(usage: Usage, model_name: str, settings: Settings) -> Cost:
    """Tokens and dollars of one call, as a budget counts them."""
    return Cost(usage.input + usage.output, price_of(usage, model_name, settings))


def most_it_costs(prompt_tokens: int, model_name: str, settings: Settings) -> Cost:
    """The most a call may cost: a prompt all of which a cache takes in anew, an answer as long as is allowed."""
    usage = Usage(input=prompt_tokens, cache_write=prompt_tokens, output=settings.max_output_tokens)
    return cost_of(usage, model_name, settings)


def endpoint(settings: Settings) -> str | None:
    """The address that stands in for OpenAI's own, by the settings or by the client's own variables."""
    return settings.base_url or os.environ.get("OPENAI_API_BASE") or os.environ.get("OPENAI_BASE_URL")


def _listed(usage: Usage, model: str, provider: str, url: str | None) -> float | None:
    """Dollars by the list of genai-prices: at `url`, else of `provider`, else of who makes the model."""
    listed = PROVIDERS[provider][1] if provider else None
    if (listed == "" and not url) or not _is_listed(model, listed, url):
        return None
    return _calculated(usage, model, listed, url)


@cache
def _is_listed(model: str, listed: str | None, url: str | None) -> bool:
    """Looked up once: a model that has no price has none at each of its calls."""
    return _calculated(Usage(input=1, output=1), model, listed, url) is not None


def _calculated(usage: Usage, model: str, listed: str | None, url: str | None) -> float | None:
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.input,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.output,
    )
    try:
        if url:
            return float(genai_prices.calc_price(counted, model, provider_api_url=url).total_price)
        return float(genai_prices.calc_price(counted, model, provider_id=listed).total_price)
    except (LookupError, ValueError):
        return None
