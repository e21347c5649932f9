"""What a call costs, by genai-prices or by the user's own figures; if unknown None, never 0."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from urllib.parse import urlsplit

from autoreproduce.config import Settings
from autoreproduce.errors import UnknownPriceError, UsageError
from autoreproduce.models.agent_programs import BY_PLAN, PROGRAMS, login_of
from autoreproduce.models.budget import NO_PRICE_FIX, Budget, Cost
from autoreproduce.models.servers import SERVERS, is_free
from autoreproduce.models.tokens import reply_tokens

# provider -> (variable with its key, its name in genai-prices)
PROVIDERS: Mapping[str, tuple[str, str]] = {
    "openai": ("OPENAI_API_KEY", "openai"),
    "anthropic": ("ANTHROPIC_API_KEY", "anthropic"),
    "azure_openai": ("AZURE_OPENAI_API_KEY", "azure"),
    "bedrock": ("", "aws"),
    "bedrock_converse": ("", "aws"),
    "claude_code": ("", ""),
    "codex": ("", ""),
    "cohere": ("COHERE_API_KEY", "cohere"),
    "deepseek": ("DEEPSEEK_API_KEY", "deepseek"),
    "fireworks": ("FIREWORKS_API_KEY", "fireworks"),
    "gemini_cli": ("", ""),
    "google_genai": ("GOOGLE_API_KEY", "google"),
    "google_vertexai": ("", "google"),
    "groq": ("GROQ_API_KEY", "groq"),
    "huggingface": ("", ""),
    "lmstudio": ("LMSTUDIO_API_KEY", ""),
    "mistralai": ("MISTRAL_API_KEY", "mistral"),
    "nvidia": ("NVIDIA_API_KEY", ""),
    "ollama": ("OLLAMA_API_KEY", ""),
    "openrouter": ("OPENROUTER_API_KEY", "openrouter"),
    "perplexity": ("PPLX_API_KEY", "perplexity"),
    "together": ("TOGETHER_API_KEY", "together"),
    "vllm": ("VLLM_API_KEY", ""),
    "xai": ("XAI_API_KEY", "x-ai"),
}

_OTHER_KEYS = {"google_genai": "GEMINI_API_KEY"}  # by which its own programs know the same key


def key_variable(provider: str) -> str:
    """The variable that holds a provider's key: the one that is set; "" where it has none."""
    usual, other = PROVIDERS[provider][0], _OTHER_KEYS.get(provider, "")
    return other if other and os.environ.get(other) and not os.environ.get(usual) else usual


# provider -> the variables with another address for its client; the first that is set counts
_ADDRESSES = {
    "openai": ("OPENAI_API_BASE", "OPENAI_BASE_URL"),
    "anthropic": ("ANTHROPIC_API_URL", "ANTHROPIC_BASE_URL"),
    "ollama": ("OLLAMA_BASE_URL",),
    "vllm": ("VLLM_BASE_URL",),
    "lmstudio": ("LMSTUDIO_BASE_URL",),
}


@dataclass(frozen=True)
class Usage:
    """Tokens of one call.

    `input` is the whole prompt, with `cached` and `cache_write`; `output` includes `reasoning`.
    `estimated`: the provider did not count them, or not credibly; the cost of such a call is
    unknown.
    """

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cache_write: int = 0
    estimated: bool = False

    def as_dict(self) -> dict[str, int]:
        """As it is written to a journal."""
        counts = asdict(self)
        del counts["estimated"]
        return {key: value for key, value in counts.items() if value or key != "cache_write"}


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
        if not all(0 <= rate <= 10**6 for rate in (rates.input, rates.cached, rates.output)):
            raise UsageError(_PRICE_HELP.format(text))
        return rates

    def of(self, usage: Usage) -> float:
        """Dollars for one call."""
        fresh = usage.input - usage.cached
        return (fresh * self.input + usage.cached * self.cached + usage.output * self.output) / 1e6


_PRICE_HELP = (
    "--price {!r} is not understood: give INPUT,CACHED,OUTPUT in dollars a million tokens, e.g. "
    "0.25,0.025,2"
)


def price_of(usage: Usage, model_name: str, settings: Settings) -> float | None:
    """Dollars for one call of `model_name` (with or without `provider:`), None if unknown.

    `settings.model.price` comes first. A local server costs 0. Behind another base URL only the
    address of a listed provider has a price. Tokens that the provider did not count have none.
    """
    if settings.model.price is None and why_free(model_name, settings):
        return 0.0
    if usage.estimated:
        return None
    if settings.model.price is not None:
        return Rates.parse(settings.model.price).of(usage)
    provider, name = _provider_of(model_name)
    url = endpoint(settings, provider or "openai")
    listed = PROVIDERS[provider][1] if provider else None
    if (listed == "" and not url) or not _is_listed(name, listed, url):
        return None
    return _calculated(usage, name, listed, url)


def why_free(model_name: str, settings: Settings) -> str:
    """Why a call costs 0 dollars, in one sentence; "" if it may cost something."""
    if settings.model.price is None and by_plan(model_name):
        return f"{model_name} {BY_PLAN}"
    provider = _provider_of(model_name)[0] or "openai"
    url = endpoint(settings, provider)
    if settings.model.price is not None or not model_name or not is_free(provider, url):
        return ""
    host = urlsplit(url or "").netloc.rpartition("@")[2]
    return f"{model_name} is on a local server ({host}), so it costs $0; --price says otherwise"


def check_price(names: Iterable[str], settings: Settings, *limits: Budget) -> None:
    """Raises UnknownPriceError for a model without a known price, unless tokens are limited."""
    names = list(names)
    plan = next((name for name in names if by_plan(name)), "")
    if plan and settings.model.price is None and any(b.limit_dollars is not None for b in limits):
        raise UsageError(
            f"a budget in dollars says nothing of {plan}, which your plan pays",
            fix="give it in calls or tokens: --budget '200 calls', --budget '2m tokens'",
        )
    counted = any(b.limit_tokens is not None or b.limit_calls is not None for b in limits)
    if counted and all(limit.limit_dollars is None for limit in limits):
        return
    for name in names:
        if price_of(Usage(1, 0, 1), name, settings) is None:
            raise UnknownPriceError(f"the price of {name} is unknown", fix=NO_PRICE_FIX)


def of_program(model_name: str) -> bool:
    """True for a model that an installed agent program answers for."""
    return model_name.partition(":")[0].replace("-", "_").lower() in PROGRAMS


def by_plan(model_name: str) -> bool:
    """True for a program's model that its user's plan pays: for one that isn't known to be billed
    here, by a key or a cloud's account.
    """
    if not of_program(model_name):
        return False
    login = login_of(_provider_of(model_name)[0])
    return login is None or login.by_plan


def _provider_of(model_name: str) -> tuple[str, str]:
    """Provider and model of `provider:name`; without a known provider "" and the whole name."""
    prefix, _, rest = model_name.partition(":")
    provider = prefix.replace("-", "_").lower()
    if provider in PROGRAMS:
        return provider, rest
    return (provider, rest) if rest and provider in PROVIDERS else ("", model_name)


def cost_of(usage: Usage, model_name: str, settings: Settings) -> Cost:
    """Tokens and dollars of one call, as a budget counts them."""
    return Cost(usage.input + usage.output, price_of(usage, model_name, settings))


def most_it_costs(prompt_tokens: int, model_name: str, settings: Settings) -> Cost:
    """The most a call may cost: the whole prompt written to a cache, the longest answer."""
    answer = reply_tokens(settings.model)
    usage = Usage(input=prompt_tokens, cache_write=prompt_tokens, output=answer)
    return cost_of(usage, model_name, settings)


def endpoint(settings: Settings, provider: str = "openai") -> str | None:
    """The address that replaces the provider's own, by setting or variable, or its server's."""
    default = SERVERS[provider].address if provider in SERVERS else None
    return settings.model.base_url or own_address(provider) or default


def own_address(provider: str) -> str | None:
    """The address of a provider's models that a variable names."""
    named = (os.environ.get(variable) for variable in _ADDRESSES.get(provider, ()))
    return next((address for address in named if address), None)


@cache
def _is_listed(model: str, listed: str | None, url: str | None) -> bool:
    """Cached: a model without a price has none at each of its calls."""
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
