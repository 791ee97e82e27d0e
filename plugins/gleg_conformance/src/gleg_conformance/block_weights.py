"""Checks of learned blocks: frozen weights, a complete card, errors as certified. Not for blocks without weights."""

import hashlib

import safetensors.torch

from gleg_conformance.block_spaces import realised
from gleg_conformance.block_states import Bound, bound, certified_error, gap, reference_of
from gleg_conformance.kit import Finding, Subject, check, not_applicable, require
from gleg_core.contracts.block import Binding
from gleg_core.contracts.learned import LearnedBlock
from gleg_core.weight_files import card_path, locate, weight_path
from gleg_core.weights.card import Card, read_card
from gleg_core.weights.load import encode, fingerprint


def _learned(subject: Subject) -> tuple[Bound, LearnedBlock]:
    made = bound(subject)
    if not isinstance(made.block, LearnedBlock):
        not_applicable("this example has no weights")
    return made, made.block


@check("block", group="weights")
def weights_stay_frozen(subject: Subject) -> None:
    """Nothing requires gradients, and evaluation, realisation and time steps leave the weights as they are."""
    made, block = _learned(subject)
    loose = [name for name, p in block.module.named_parameters() if p.requires_grad]
    require(not loose, f"the parameters {', '.join(loose)} require gradients: a block that is used is frozen")
    before = fingerprint(block.module)
    made.responses(made.state(2))
    require(fingerprint(block.module) == before, "evaluation changed the weights")
    run = realised(made, K=5)
    step, z = run.system.linear.resolvent(1e-3), run.initial
    for _ in range(3):
        z = step(z + 1e-3 * run.system.nonlinear(z, 0.0))
    used = [t.block for t in run.terms if isinstance(t.block, LearnedBlock)]
    require(
        all(fingerprint(b.module) == before for b in used), "realisation on a domain or time steps changed the weights"
    )


@check("block", group="weights")
def weights_say_everything(subject: Subject) -> Finding:
    """An untrained block that is given the saved weights responds bit for bit like the shipped one."""
    made, block = _learned(subject)
    params = subject.params(dim=made.dim, fields=made.fields)
    twin = type(block).untrained(params, Binding(made.target, made.fields, made.dim))
    twin.module.load_state_dict(safetensors.torch.load(encode(block.module)))
    twin.module.requires_grad_(False)
    fields = made.jets(made.state(2), made.at)
    difference = gap(block.response(fields, made.at), twin.response(fields, made.at))
    return Finding(difference, 0.0, "response with saved and loaded weights against the original")


@check("block", group="weights")
def card_is_complete(subject: Subject) -> None:
    """The card names this block, its traits, its weights file and its certified errors."""
    _, block = _learned(subject)
    card, traits, key = _card(subject, block), block.traits, subject.component.key
    require(card.block == key, f"the card is that of '{card.block}'")
    for what, said, true in (("order", card.order, traits.order), ("degree", card.degree, traits.degree)):
        require(said == true, f"the card says {what} {said}, the block has {true}")
    require(
        card.structure.startswith(traits.structure),
        f"the card says structure {card.structure}, the block {traits.structure}",
    )
    shapes = {name: list(t.shape) for name, t in block.module.state_dict().items()}
    require(card.shapes == shapes, f"the card lists tensors {card.shapes}, the block has {shapes}")
    data = weight_path(locate(block.weights)).read_bytes()
    require(hashlib.sha256(data).hexdigest() == card.sha256, "the hash on the card is not that of the weights file")
    require(card.by_amplitude or card.by_wavenumber, "the card has no errors by amplitude or by wavenumber")
    for what, text in (("summary", card.summary), ("licence", card.licence), ("target", card.target)):
        require(text.strip(), f"the card has no {what}")
    require(card.recipe and card.versions, "the card does not say how and with which software it was trained")


def _card(subject: Subject, block: LearnedBlock) -> Card:
    return read_card(card_path(locate(block.weights)), subject.component.key)


@check("block", group="weights")
def error_as_certified(subject: Subject) -> Finding:
    """On states within the certified range the response is as close to the reference as the card says."""
    made, block = _learned(subject)
    card = _card(subject, block)
    fields = made.jets(made.state(4) * min(1.0, card.amplitude), made.at)
    exact = reference_of(block, fields, made.at)
    if exact is None:
        not_applicable("it was learned from data: there is no formula to compare with")
    error = float((block.response(fields, made.at) - exact).norm() / exact.norm().clamp(min=1e-300))
    return Finding(
        error, 10 * certified_error(block) + 1e-13, "relative error against ten times the worst certified one"
    )
