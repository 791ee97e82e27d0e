"""The public surface of core: what packs and tools may import. A test holds them to it; everything else may change without notice.

Keys are modules of ``gleg_core``, values the names in them that are promised. Within one major version of the contracts a promised name
stays and keeps its meaning.
"""

AUTHORS: dict[str, str] = {
    "capabilities": "BasisCapabilities BlockCapabilities BoundaryCapabilities Capabilities DictionaryCapabilities DomainCapabilities "
    "IntegratorCapabilities capabilities",
    "contracts.basis": "Basis Frame Site as_points",
    "contracts.block": "Binding Block Fields Mode Structure Traits",
    "contracts.boundary": "BoundaryOperator Flux",
    "contracts.dictionary": "Candidate Dictionary",
    "contracts.domain": "BoundarySample Corner Domain Quadrature ROUNDING Segment",
    "contracts.integrator": "Integrator LinearPart Operator RememberingStepper SplitSystem Stepper",
    "contracts.jet": "Jet MultiIndex unit",
    "contracts.learned": "LearnedBlock derivative energy_gradient",
    "contracts.local_basis": "Cells EdgeCells LocalBasis",
    "contracts.location": "COORDINATES Datum Location",
    "contracts.transform": "IntegratedProducts LineTransform Products Sums Transform on_lines",
    "coordinates": "COORDINATES",
    "errors": "GeometryError GlegError NumericsError OutputError PackError SpecError did_you_mean listing nearest",
    "expressions": "Expression formula",
    "mechanisms": "Formula Mechanism NonNegative Number Positive Whole blocks energy flux hamiltonian pointwise",
    "pack": "CONTRACT CONTRACTS Contract Entry HOOKS Keys TABLE Tool hookimpl",
    "spec.defaults": "Question Suggestion suggested",
    "spec.keys": "Reader Reading",
    "spec.params": "COORDINATES FieldName FilePath Formula NonNegative Number PackParams Positive ScalarLawParams Scope SpaceFormula Whole "
    "formula_over scope_of shown",
    "terminal": "Display Listener Terminal",
    "weights.guard": "OutsideCertifiedRange RangeGuard",
    "weights.load": "load_frozen",
    "weights.scalar_law": "ScalarLaw",
    "weights.series": "ChebyshevSeries",
}
"""For authors of packs: contracts, parameter models, formulas, frozen weights, what hooks are called with."""

TOOLS: dict[str, str] = {
    "": "__version__",
    "algebra.boundary_system": "BoundaryPoints BoundarySystem SegmentCondition expression_jet jet_on spread",
    "algebra.linear": "DensePart DiagonalPart",
    "algebra.tables": "Tables tabulate",
    "atomic": "write_bytes write_text",
    "automatic": "Choice is_wanted",
    "folders": "cache_folder",
    "registry": "Component Failure Offered OfferedKeys Pack Registry default_registry",
    "registry.absent": "refused",
    "registry.catalogue": "Offer SHIPPED canonical offers_in shipped_offers",
    "registry.fingerprint": "files_hash installed_files named_files sha256_of weights_hashes",
    "registry.installed": "IDENTIFIER",
    "registry.records": "one_line printable",
    "run": "Run",
    "solver": "Silent integrate solve",
    "spec.blame": "check_contract failure pack_failed",
    "spec.complaints": "Complaints",
    "spec.geometry": "check_geometry",
    "spec.guard": "Guard check_document explained",
    "spec.loading": "Document Place load_document load_value",
    "spec.models": "BoundarySection ComponentSection ProblemSection Section TermSection",
    "spec.overrides": "parse_setting with_settings",
    "spec.problem": "FieldSpec Problem Resolved TermSpec load_problem",
    "spec.resolve": "components packs_of resolved resolved_yaml term_components term_data",
    "spec.segments": "assign_segments",
    "spec.validation": "read_term",
    "stopwatch": "Stopwatch",
    "system.discrete_field": "DiscreteField",
    "system.discretise": "Discretisation Report Spaces all_terms build_spaces discretise realised_terms",
    "system.initial": "initial_state",
    "system.reduced": "ReducedSystem",
    "system.responses": "Responses kind",
    "system.rollout": "Trajectory differentiable_rollout rollout",
    "system.sources": "ManufacturedForcing NodalSource",
    "system.terms": "Integrals Term blamed_on choose_mode integrate state_matrix",
    "threads": "at_most one_thread",
    "weights.card": "Bin Card read_card",
    "weight_files": "card_path checkpoint_path locate stem_of weight_path",
    "weights.load": "encode fingerprint",
}
"""Beyond that, for tools: problems, spaces and systems, runs, the registry."""
